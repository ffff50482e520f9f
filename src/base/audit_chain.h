// pure: how the lines of an audit log hang together. The door writes the chain, the operator's side
// follows it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace agentbox {

/// Where an audit log stands: the number of its newest line, and the hash that this line carries,
/// which stands for all lines since the first. Before the first line the hash is 64 zeros.
struct AuditHead {
  std::uint64_t sequence = 0;
  std::string hash = std::string(64, '0');

  bool operator==(const AuditHead&) const = default;
};

/// SHA-256, as 64 hex digits, of BEFORE (the hash that the line before carries) and BODY.
[[nodiscard]] std::string chain_hash(std::string_view before, std::string_view body);

/// LINE is an object of JSON on one line, not empty, without newline. Its last member becomes
/// `"chain":"HASH"`: HASH is chain_hash() of HEAD's and of all that stands before this member. The
/// result is the head after the line.
[[nodiscard]] AuditHead add_chain(const AuditHead& head, std::string& line);

/// A line that add_chain() has written, taken apart: views into the line.
struct ChainedLine {
  std::string_view body;
  std::string_view hash;
};
/// Nothing where LINE does not end as add_chain() ends it.
[[nodiscard]] std::optional<ChainedLine> split_chain(std::string_view line);

/// What the log file says where it tells the head, so that there is one more place that has it.
inline constexpr std::string_view kHeadMessage = "audit head";

/// True for 64 hex digits as chain_hash() writes them.
[[nodiscard]] bool is_chain_hash(std::string_view text);

/// Always as long: the file is written in place, so that neither a kill nor a power cut in the
/// middle leaves half of it.
[[nodiscard]] std::string render_head(const AuditHead& head);
/// Strict: a text that render_head() did not write is an Error.
[[nodiscard]] Result<AuditHead> parse_head(std::string_view text);

}  // namespace agentbox
