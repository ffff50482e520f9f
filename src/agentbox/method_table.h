// edge: every method besides tools/call that needs the box, as one explicit list.
#pragma once

#include <vector>

#include "agentbox/method.h"

namespace agentbox::mcp {

/// Needed for the life of the session.
[[nodiscard]] std::vector<Method> all_methods();

}  // namespace agentbox::mcp
