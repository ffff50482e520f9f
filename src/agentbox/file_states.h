// edge: what there is to compare of files.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

#include "agentbox/tree_diff.h"

namespace agentbox::mcp {

[[nodiscard]] FileState state_of_stat(const struct stat& info);
/// Of NAME in the open folder FOLDER, a link being what is meant itself.
[[nodiscard]] std::optional<FileState> state_of_name(int folder, const std::string& name);

}  // namespace agentbox::mcp
