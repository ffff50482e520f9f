// edge: tasks over the protocol, in both its dialects: the core one of revision 2025-11-25 and the
// extension of 2026-07-28.
#pragma once

#include <vector>

#include "agentbox/method.h"

namespace agentbox::mcp {

/// tasks/*, and tools/call for a call that its client wants, or allows, to be a task.
[[nodiscard]] std::vector<Method> task_methods();

}  // namespace agentbox::mcp
