// pure: what the door must not forget over a restart, as the text of its two files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace agentbox::sshd {

/// Where the audit stands: the number of the newest line, and a hash over every line since the
/// first. HASH is SHA-256 of the hash before and the line, newline included, both as they are
/// written; before the first line it is 64 zeros. Whoever has the lines can compute it again: one
/// that was changed, taken out or added shows.
struct AuditHead {
  std::uint64_t sequence = 0;
  std::string hash = std::string(64, '0');

  bool operator==(const AuditHead&) const = default;
};

/// The head after LINE.
[[nodiscard]] AuditHead next_head(const AuditHead& head, std::string_view line);

/// Always as long: the file is written in place, so that neither a kill nor a power cut in the
/// middle leaves half of it.
[[nodiscard]] std::string render_head(const AuditHead& head);
/// Strict: a text that render_head() did not write is an Error.
[[nodiscard]] Result<AuditHead> parse_head(std::string_view text);

[[nodiscard]] std::string render_generation(std::uint64_t generation);
[[nodiscard]] Result<std::uint64_t> parse_generation(std::string_view text);

}  // namespace agentbox::sshd
