// pure: an OpenSSH certificate as a value, and the file that names the CAs whose ones count.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/public_key.h"
#include "base/result.h"
#include "sshd/address.h"

namespace agentbox::sshd {

/// A longer one is refused: an honest one is a few KiB, and every stranger can have one parsed.
inline constexpr std::size_t kMaxCertificateBytes = 32768;
/// OpenSSH's own bound on the principals of one certificate.
inline constexpr std::size_t kMaxPrincipals = 256;
/// OpenSSH writes names and addresses there. Escaped it still fits into one text of a record.
inline constexpr std::size_t kMaxKeyIdBytes = 512;
/// More CAs than this share one box's trust; the file is refused whole.
inline constexpr std::size_t kMaxAuthorities = 100;
/// `valid_before` of a certificate that never expires.
inline constexpr std::uint64_t kNoExpiry = UINT64_MAX;

/// What a certificate says. That it was parsed means nothing: whether it counts is
/// policy.decide_auth()'s to say, the CA's signature included.
struct Certificate {
  static constexpr std::uint32_t kUser = 1;

  std::string type;  ///< `ssh-ed25519-cert-v01@openssh.com` and the like
  PublicKey key;     ///< the certified key, as it would be without a certificate
  std::uint64_t serial = 0;
  std::uint32_t kind = 0;  ///< kUser, or 2 for a host's
  std::string key_id;      ///< UTF-8 without control characters
  std::vector<std::string> principals;
  std::uint64_t valid_after = 0;   ///< Unix seconds, the first at which it counts
  std::uint64_t valid_before = 0;  ///< Unix seconds, the first at which it no longer does
  std::optional<FromList> source_address;
  bool has_unknown_option = false;  ///< a critical one
  PublicKey authority;              ///< the CA's, as the certificate gives it
  std::string signed_bytes;         ///< what the CA's signature is over
  std::string signature;
};

/// True where BLOB calls itself a certificate, of whatever kind: such a one must never be compared
/// with plain keys, however it parses.
[[nodiscard]] bool is_certificate(std::string_view blob);

/// Reads the blob as it comes on the wire (OpenSSH's PROTOCOL.certkeys): of the key types that
/// PublicKey takes, signed by a key of one of them. Strict: every field whole, nothing behind the
/// last, each number of the certified key in its one shortest form (a second spelling would have a
/// second fingerprint, which no list of revoked keys names). `force-command` is known and changes
/// nothing: every session is forced into the tool server already. Extensions only widen what a
/// session may do, and nothing here can be widened: they are skipped.
[[nodiscard]] Result<Certificate> parse_certificate(std::string_view blob);

/// The text of user_ca: one public key a line, as ssh-keygen writes them; blank lines, `#` lines,
/// CRLF and a BOM are skipped. Any other line is an Error with its number.
[[nodiscard]] Result<std::vector<PublicKey>> parse_authorities(std::string_view text);

/// The text of box_name: one word that can be a pod's name or a host's, at most 253 bytes, and a
/// newline or none.
[[nodiscard]] Result<std::string> parse_box_name(std::string_view text);

/// What a certificate's key id must be, and a line `id:` of the revoked file can name.
[[nodiscard]] bool is_key_id(std::string_view text);

}  // namespace agentbox::sshd
