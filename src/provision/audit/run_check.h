// edge: asks agentbox-sshd what a configuration means.
#pragma once

#include <string>

#include "base/result.h"
#include "provision/audit/facts.h"

namespace agentbox::provision::audit {

/// What PROGRAM --check says of CONFIG. PROGRAM is the operator's own, not the box's copy: that one
/// is a thing to be audited.
[[nodiscard]] Result<Policy> ask_policy(const std::string& program, const std::string& config);

}  // namespace agentbox::provision::audit
