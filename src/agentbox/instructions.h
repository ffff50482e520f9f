// pure: what a session tells a model at its start: which of its tools is for what.
#pragma once

#include <span>
#include <string>

#include "agentbox/settings.h"
#include "agentbox/tool.h"

namespace agentbox::mcp {

/// Clients cut instructions here.
inline constexpr std::size_t kMaxInstructionsBytes = 2048;

/// Of those of TOOLS that ROLE may call; below kMaxInstructionsBytes for every set of tools.
/// Nothing from the workspace gets in here.
[[nodiscard]] std::string instructions(std::span<const Tool> tools, Role role);

}  // namespace agentbox::mcp
