// pure: see audit_summary.h.
#include "sshd/audit_summary.h"

#include <utility>

#include "base/defence.h"

namespace agentbox::sshd {

bool AuditSummary::admit(std::string_view kind, std::int64_t second) {
  if (second != second_) {
    second_ = second;
    written_ = 0;
  }
  if (written_ < kStrangerEventsPerSecond || !defended("audit-rate")) {
    ++written_;
    return true;
  }
  count(kind);
  return false;
}

std::map<std::string, std::uint64_t> AuditSummary::take(std::int64_t second) {
  return second == second_ ? std::map<std::string, std::uint64_t>() : std::exchange(counted_, {});
}

}  // namespace agentbox::sshd
