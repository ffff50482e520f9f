// edge: what kind of file a mode says, and its permission bits, in the words of replies.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace agentbox::mcp {

struct FileKind {
  std::string_view name;  ///< "file", "directory", "symlink", ...
  char letter;            ///< as lists show it: f, d, l, ...
};
[[nodiscard]] FileKind kind_of_file(mode_t mode);

/// "0644".
[[nodiscard]] std::string octal_mode(mode_t mode);

}  // namespace agentbox::mcp
