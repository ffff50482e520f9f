// pure: sums up what strangers do past a rate, so that they cannot fill the audit log.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace agentbox::sshd {

/// Events of connections without a login that are written one by one in each second; the rest of
/// that second is counted by kind.
inline constexpr std::uint64_t kStrangerEventsPerSecond = 10;

class AuditSummary {
 public:
  /// True where an event of a stranger in this SECOND is to be written; else it has been counted.
  [[nodiscard]] bool admit(std::string_view kind, std::int64_t second);

  /// Counts an event of a stranger that is not to be written.
  void count(std::string_view kind) { ++counted_[std::string(kind)]; }

  /// What was counted before SECOND, by kind, and forgets it; empty where nothing was.
  [[nodiscard]] std::map<std::string, std::uint64_t> take(std::int64_t second);

 private:
  std::int64_t second_ = 0;
  std::uint64_t written_ = 0;
  std::map<std::string, std::uint64_t> counted_;
};

}  // namespace agentbox::sshd
