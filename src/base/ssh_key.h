// edge: making and reading SSH private keys (its door to libssh is shared with ssh_client.h).
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/public_key.h"
#include "base/result.h"

namespace agentbox {

/// Text that must not outlive its use: wiped when destroyed, never copied, never printed.
class SecretText {
 public:
  SecretText() = default;
  explicit SecretText(std::string text) : text_(std::move(text)) {}
  SecretText(SecretText&& other) noexcept : text_(std::move(other.text_)) { other.wipe(); }
  SecretText& operator=(SecretText&& other) noexcept {
    if (this != &other) {
      wipe();
      text_ = std::move(other.text_);
      other.wipe();
    }
    return *this;
  }
  SecretText(const SecretText&) = delete;
  SecretText& operator=(const SecretText&) = delete;
  ~SecretText() { wipe(); }

  /// For the one call that needs the bytes.
  [[nodiscard]] const std::string& reveal() const { return text_; }
  [[nodiscard]] bool empty() const { return text_.empty(); }

 private:
  void wipe() noexcept;
  std::string text_;
};

struct KeyPair {
  SecretText private_key;  ///< OpenSSH format, as it belongs into a file of mode 0600
  PublicKey public_key;
};

/// A new ed25519 key without passphrase.
[[nodiscard]] Result<KeyPair> generate_ed25519();

/// The public half of a private key in OpenSSH or PEM format. One with a passphrase is refused:
/// nobody is there to type it.
[[nodiscard]] Result<PublicKey> public_half(const SecretText& private_key);

/// True where TEXT holds a private key of any format we know of.
[[nodiscard]] bool looks_like_private_key(std::string_view text);

}  // namespace agentbox
