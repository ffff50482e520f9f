// pure: one line of a box's audit log as the operator's side reads it, and what can be told from
// many of them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace agentbox::provision {

/// The door's lines are shorter than 16 KiB.
inline constexpr std::size_t kMaxAuditLineBytes = 64U << 10U;

/// Every event that a door writes.
inline constexpr std::array<std::string_view, 10> kAuditEvents = {
    "listen",        "connect",     "auth",      "request",     "disconnect",
    "session_start", "session_end", "tool_call", "keys_loaded", "limit"};
[[nodiscard]] bool is_audit_event(std::string_view name);
/// Them all, for people.
[[nodiscard]] std::string audit_event_names();

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

}  // namespace agentbox::provision
