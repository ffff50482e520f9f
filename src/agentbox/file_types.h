// pure: names of kinds of files, as search tools know them.
#pragma once

#include <string>
#include <string_view>

namespace agentbox::mcp {

/// Whether NAME, a file's base name, is of the kind TYPE ("py", "cpp", "md", ...).
[[nodiscard]] bool is_of_type(std::string_view name, std::string_view type);

[[nodiscard]] bool is_file_type(std::string_view type);

/// All kinds, for an error's text.
[[nodiscard]] std::string file_type_names();

}  // namespace agentbox::mcp
