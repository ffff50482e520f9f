// edge: the tools of code contexts, one function each; tool_table.cc lists them.
#pragma once

#include "agentbox/tool.h"

namespace agentbox::mcp {

[[nodiscard]] Tool code_execute_tool();
[[nodiscard]] Tool code_context_create_tool();
[[nodiscard]] Tool code_context_list_tool();
[[nodiscard]] Tool code_context_delete_tool();

}  // namespace agentbox::mcp
