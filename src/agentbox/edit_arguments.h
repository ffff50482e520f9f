// pure: the arguments that say an exact replacement, alone or as one of several.
#pragma once

#include <string_view>
#include <vector>

#include "agentbox/arguments.h"
#include "agentbox/edit.h"

namespace agentbox::mcp {

/// What an edit consists of; REQUIRED as one of several.
[[nodiscard]] std::vector<Argument> edit_fields(bool required);

/// The list `edits`.
[[nodiscard]] Argument edits_argument(std::string_view description);

[[nodiscard]] TextEdit edit_of(const Arguments& arguments);

}  // namespace agentbox::mcp
