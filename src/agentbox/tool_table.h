// edge: the whole tool surface as one explicit list.
#pragma once

#include <span>
#include <vector>

#include "agentbox/tool.h"
#include "base/profile.h"
#include "base/result.h"

namespace agentbox::mcp {

/// Every tool in the order it is published. Needed for the life of the session.
[[nodiscard]] std::vector<Tool> all_tools();

/// Those of them that PROFILE offers. For its sessions there are no others.
[[nodiscard]] std::vector<Tool> tools_of(Profile profile);

/// Refuses a table that clients would choke on: names that repeat or hold odd characters,
/// descriptions over 2 KB, schemas or metadata that are not JSON objects, a missing handler.
[[nodiscard]] Status check_tools(std::span<const Tool> tools);

}  // namespace agentbox::mcp
