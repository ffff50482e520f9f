// pure: the environment commands get: built, not inherited.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "agentbox/outcome.h"
#include "agentbox/settings.h"

namespace agentbox::mcp {

/// NAME=value entries of every command: PATH, HOME, USER, LANG and the like, TMPDIR, and on top the
/// variables the operator passes on.
[[nodiscard]] std::vector<std::string> command_environment(const Settings& settings);

/// BASE with EXTRA on top (a call's env argument); a later value replaces an earlier one. Names
/// that are empty, hold '=' or NUL, or belong to us (AGENTBOX_*) are refused.
[[nodiscard]] Outcome<std::vector<std::string>> with_variables(
    std::vector<std::string> base, const std::vector<std::pair<std::string, std::string>>& extra);

/// The value of NAME in ENVIRONMENT, empty where it is not there.
[[nodiscard]] std::string find_variable(const std::vector<std::string>& environment,
                                        std::string_view name);

}  // namespace agentbox::mcp
