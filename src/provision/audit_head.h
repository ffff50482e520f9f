// edge: where a local box's door says that its audit log stands.
#pragma once

#include <string>

#include "base/audit_chain.h"
#include "base/result.h"

namespace agentbox::provision {

/// STATE_FOLDER is the door's. Code::kNotFound where it has not started yet.
[[nodiscard]] Result<AuditHead> read_audit_head(const std::string& state_folder);

}  // namespace agentbox::provision
