// pure: what a tools/call says of being run as a task.
#pragma once

#include "agentbox/protocol.h"
#include "base/json.h"

namespace agentbox::mcp {

enum class TaskWish {
  kNone,
  kAsked,    ///< the client decides (2025-11-25): it wants a task or an error
  kAllowed,  ///< the server decides (the extension): it takes a task or a result
};

/// PARAMS of the request, in VERSION. What a revision does not know is ignored.
[[nodiscard]] TaskWish task_wish(const Json& params, Version version);

/// Whether the request's own envelope declares the extension.
[[nodiscard]] bool declares_tasks(const Json& params);

}  // namespace agentbox::mcp
