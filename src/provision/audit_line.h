// pure: one line of a box's audit log as the operator's side reads it, and what can be told from
// many of them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace agentbox::provision {

/// The door's lines are shorter than 16 KiB.
inline constexpr std::size_t kMaxAuditLineBytes = 64U << 10U;

struct AuditLine {
  Json json;
  std::uint64_t sequence = 0;
  std::string time;  ///< RFC 3339 in UTC, milliseconds: texts compare as times do
  std::string event;
  std::string key;      ///< fingerprint, or empty
  std::string session;  ///< id, or empty
};

/// TEXT is one line without its newline. Whatever the door could not have written is an Error.
[[nodiscard]] Result<AuditLine> parse_audit_line(std::string_view text);

/// Which lines are wanted; what is empty asks for nothing.
struct AuditFilter {
  std::string since;  ///< a time as lines have it
  std::string event;
  std::string key;
};
[[nodiscard]] bool matches(const AuditFilter& filter, const AuditLine& line);

/// `2026-11-30`, `2026-11-30T06:31:00Z` (seconds and fraction may be left out), or an age such as
/// 90s, 10m, 2h, 7d before NOW_MS (Unix time), as a text that lines' times compare with.
[[nodiscard]] Result<std::string> parse_since(std::string_view text, std::int64_t now_ms);

/// One line for people: time, event, and its fields as NAME=VALUE.
[[nodiscard]] std::string describe(const AuditLine& line);

/// Which sessions of which key are open, told from the lines in their order.
class OpenSessions {
 public:
  void take(const AuditLine& line);
  /// Sessions of any of FINGERPRINTS that are open.
  [[nodiscard]] std::size_t count(const std::vector<std::string>& fingerprints) const;
  /// The highest generation of keys that the door has said is in force; 0 before the first.
  [[nodiscard]] std::uint64_t generation() const { return generation_; }

 private:
  std::map<std::string, std::string> keys_;  ///< of open sessions, by session
  std::uint64_t generation_ = 0;
};

/// Follows the door's chain over its lines: each is numbered one higher, and the head that the door
/// told at a start is the hash over all before it.
class AuditChain {
 public:
  /// TEXT is the line as it stands, without its newline.
  void take(const AuditLine& line, std::string_view text);
  /// What does not fit, in words, at most kMaxComplaints of them; empty: whole.
  [[nodiscard]] const std::vector<std::string>& complaints() const { return complaints_; }
  [[nodiscard]] std::uint64_t lines() const { return lines_; }

 private:
  void complain(std::string words);

  void compare(std::uint64_t at, std::uint64_t sequence, const std::string& told);

  std::optional<std::string> hash_;  ///< after the newest line; nothing before a known start
  std::deque<std::pair<std::uint64_t, std::string>> heads_;  ///< after the newest lines
  std::uint64_t lines_ = 0;
  std::vector<std::string> complaints_;
};
inline constexpr std::size_t kMaxComplaints = 20;

}  // namespace agentbox::provision
