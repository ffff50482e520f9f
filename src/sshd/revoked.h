// pure: the text of the revoked file: what is locked out, whatever authorized_keys says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace agentbox::sshd {

/// A longer file is refused whole: it is read at every login.
inline constexpr std::size_t kMaxRevokedLines = 10'000;

/// What is locked out. A fingerprint locks out the key with every certificate of it, and a CA with
/// everything it signed; serials and ids are those of certificates, whoever signed them.
struct Revoked {
  std::vector<std::string> fingerprints;  ///< `SHA256:...`
  std::vector<std::uint64_t> serials;     ///< `serial:N`
  std::vector<std::string> ids;           ///< `id:...`, escaped as records and audit have them

  [[nodiscard]] bool names_key(std::string_view fingerprint) const;
  [[nodiscard]] bool names_serial(std::uint64_t serial) const;
  [[nodiscard]] bool names_id(std::string_view escaped) const;
  [[nodiscard]] std::size_t size() const {
    return fingerprints.size() + serials.size() + ids.size();
  }
};

/// One a line: `SHA256:` and its 43 characters, `serial:` and a decimal number of 64 bits, or `id:`
/// and a key id (UTF-8, no control characters). Blanks around a line, blank lines, `#` lines, CRLF
/// and a BOM are skipped. Any other line is an Error with its number: somebody meant to lock
/// something out, so that whoever cannot read it lets nobody in.
[[nodiscard]] Result<Revoked> parse_revoked(std::string_view text);

}  // namespace agentbox::sshd
