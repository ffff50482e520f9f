// pure: one SSH public key as a value: its type, its blob, its fingerprint.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace agentbox {

/// A public key of a type that agents may use: ssh-ed25519, ecdsa-sha2-nistp{256,384,521}, ssh-rsa
/// from 2048 bits. sk keys are refused (whether one was touched is not verified), and certificates
/// are no keys.
class PublicKey {
 public:
  /// Parses `TYPE BASE64 [comment]` (RFC 4253 section 6.6 blob; the type inside must agree).
  /// A private key, an option before the type, or anything else is an Error that says so.
  [[nodiscard]] static Result<PublicKey> parse(std::string_view line);
  /// Parses the raw blob as it comes on the wire.
  [[nodiscard]] static Result<PublicKey> from_blob(std::string_view blob);

  [[nodiscard]] const std::string& type() const { return type_; }
  [[nodiscard]] const std::string& blob() const { return blob_; }
  [[nodiscard]] const std::string& comment() const { return comment_; }
  /// `SHA256:` and unpadded base64, as ssh-keygen -l prints it.
  [[nodiscard]] std::string fingerprint() const;
  /// `TYPE BASE64`, without comment.
  [[nodiscard]] std::string text() const;

 private:
  PublicKey() = default;
  std::string type_;
  std::string blob_;
  std::string comment_;
};

/// True for `SHA256:` and 43 characters of base64.
[[nodiscard]] bool is_fingerprint(std::string_view text);

}  // namespace agentbox
