// pure: see task_wishes.h.
#include "agentbox/task_wishes.h"

#include "agentbox/jsonrpc.h"

namespace agentbox::mcp {

bool declares_tasks(const Json& params) {
  const Json* envelope = find_envelope(params);
  const Json* abilities =
      envelope == nullptr ? nullptr : find_member(*envelope, meta::kClientCapabilities);
  const Json* extensions = abilities == nullptr ? nullptr : find_member(*abilities, "extensions");
  return extensions != nullptr && find_member(*extensions, meta::kTasksExtension) != nullptr;
}

TaskWish task_wish(const Json& params, Version version) {
  if (features(version).modern) {
    return declares_tasks(params) ? TaskWish::kAllowed : TaskWish::kNone;
  }
  const Json* task = find_member(params, "task");
  const bool asked = features(version).core_tasks && task != nullptr && task->is_object();
  return asked ? TaskWish::kAsked : TaskWish::kNone;
}

}  // namespace agentbox::mcp
