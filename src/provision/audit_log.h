// edge: `audit-log`: what an audit log tells, and whether it is what the door wrote.
#pragma once

#include "provision/answer.h"
#include "provision/audit_proof.h"
#include "provision/command.h"
#include "provision/report.h"
#include "provision/state.h"

namespace agentbox::provision {

/// Lines held in memory for one answer; older ones are left out and counted.
inline constexpr std::size_t kMaxAuditAnswer = kMaxAuditLines;

/// Proves, shows or draws the log that WANTED names. Exit::kCheckFailed where anything in it is
/// not as the door wrote it.
[[nodiscard]] Answer<Report> audit_log(const Store& store, const AuditLog& wanted);

/// What can be said of a local box's log, its tail proven by the head in the door's state folder.
[[nodiscard]] Result<AuditVerdict> check_audit(const BoxPaths& paths);

}  // namespace agentbox::provision
