// edge: the methods resources/list, resources/templates/list and resources/read.
#pragma once

#include <vector>

#include "agentbox/method.h"

namespace agentbox::mcp {

[[nodiscard]] std::vector<Method> resource_methods();

}  // namespace agentbox::mcp
