// edge: see method_table.h.
#include "agentbox/method_table.h"

#include "agentbox/task_methods.h"

namespace agentbox::mcp {

std::vector<Method> all_methods() { return task_methods(); }

}  // namespace agentbox::mcp
