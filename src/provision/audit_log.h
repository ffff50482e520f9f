// edge: `audit-log`: an audit log, filtered, and whether it is whole.
#pragma once

#include "provision/answer.h"
#include "provision/command.h"
#include "provision/report.h"
#include "provision/state.h"

namespace agentbox::provision {

/// Lines held in memory for one answer; older ones are left out and counted.
inline constexpr std::size_t kMaxAuditAnswer = kMaxAuditLines;

/// The lines that WANTED asks for. Exit::kCheckFailed where lines are missing or were changed.
[[nodiscard]] Answer<Report> audit_log(const Store& store, const AuditLog& wanted);

/// What does not fit in the audit log at PATH; nothing where it is whole.
struct AuditState {
  std::uint64_t lines = 0;
  std::vector<std::string> complaints;
};
[[nodiscard]] Result<AuditState> check_audit(const std::string& path);

}  // namespace agentbox::provision
