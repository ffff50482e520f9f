// edge: changes a file where it lies, so that a failure half way brings its old content back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agentbox/outcome.h"

namespace agentbox::mcp {

/// An open regular file that keeps its inode. FD is borrowed.
struct OldFile {
  int fd = -1;
  std::uint64_t size = 0;
  std::string shown = {};  ///< its path, for errors
  bool sync = true;        ///< to disk before success is told
};

/// Puts DATA in place of the content of FILE (open for reading and writing). Room for its growth is
/// taken first and the old content waits in KEEP_FOLDER until all is done; where it could not be
/// put back after a failure, the error names the file that holds it.
[[nodiscard]] std::optional<ToolError> overwrite(const OldFile& file, std::string_view data,
                                                 const std::string& keep_folder);

/// The same with the content of the open file SOURCE.
[[nodiscard]] std::optional<ToolError> overwrite_from(const OldFile& file, int source,
                                                      const std::string& keep_folder);

/// Puts DATA in place of the content without keeping that: 0, or the errno after which FILE may
/// hold anything. Room for its growth is taken first.
[[nodiscard]] int write_over(const OldFile& file, std::string_view data);

/// Adds DATA to the end of FILE (open with O_APPEND). After a failure what was added is cut off
/// again, unless somebody else appended too.
[[nodiscard]] std::optional<ToolError> append(const OldFile& file, std::string_view data);

}  // namespace agentbox::mcp
