// edge: see method_table.h.
#include "agentbox/method_table.h"

namespace agentbox::mcp {

std::vector<Method> all_methods() { return {}; }

}  // namespace agentbox::mcp
