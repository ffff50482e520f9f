// pure: one change to one name of a watched tree, as callers are told it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace agentbox::mcp {

enum class ChangeOp : std::uint8_t {
  kCreate,    ///< with every name in it where a folder was moved in or made together with them
  kModify,    ///< its content was written, or another file took its name
  kDelete,    ///< of a folder: with everything in it
  kMove,      ///< of a folder: with everything in it
  kAttrib,    ///< mode or owner
  kOverflow,  ///< there were more changes than could be told: list the tree again
};

[[nodiscard]] std::string_view change_op_name(ChangeOp op);
[[nodiscard]] std::optional<ChangeOp> change_op_of(std::string_view name);

struct FileChange {
  ChangeOp op = ChangeOp::kModify;
  std::string path = {};      ///< bytes, relative to what is watched; empty: that itself
  std::string old_path = {};  ///< of a move
  std::string type = {};      ///< "file", "directory", "symlink", ... of what is, or was, there
  std::int64_t at_ms = 0;     ///< since 1970: when it was noticed

  bool operator==(const FileChange&) const = default;
};

}  // namespace agentbox::mcp
