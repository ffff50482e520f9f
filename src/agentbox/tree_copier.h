// edge: copies what a folder holds into an empty folder, following no link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "agentbox/outcome.h"
#include "base/handle.h"

namespace agentbox::mcp {

/// Names of one copy; far beyond what a project has, and minutes of work.
inline constexpr std::size_t kMaxCopiedNames = 1'000'000;
/// Folders below one another.
inline constexpr std::size_t kMaxCopiedDepth = 200;

/// What a copy has done so far.
struct CopyTally {
  std::uint64_t files = 0;  ///< names that are no folders
  std::uint64_t bytes = 0;  ///< the sizes of the regular files among them
};

struct CopyOptions {
  bool kernel_copies = false;  ///< see copy_content()
  /// Asked all the time; false ends the copy.
  std::function<bool(const CopyTally&)> go_on = [](const CopyTally&) { return true; };
};

/// Copies the open regular file FROM into TO, which is new and empty: content, users' attributes
/// and permissions without set-id bits. 0 or an errno, ECANCELED. TALLY grows.
[[nodiscard]] int copy_file(int from, int to, const CopyOptions& options, CopyTally& tally);

/// The error of a NAME (as shown) that is neither file, folder nor link.
[[nodiscard]] ToolError cannot_copy_special(const std::string& name);
[[nodiscard]] ToolError copy_cancelled();

struct CopiedTree {
  const UniqueFd& from;        ///< the folder open for reading
  const UniqueFd& to;          ///< likewise, empty
  std::string from_name = {};  ///< their paths, for errors; raw
  std::string to_name = {};
};

/// Copies what is in TREE.from into TREE.to, and its permissions: files, links as links, folders.
/// Names of unfinished writes are left out. An error leaves TREE.to half filled.
[[nodiscard]] std::optional<ToolError> copy_tree(const CopiedTree& tree, const CopyOptions& options,
                                                 CopyTally& tally);

}  // namespace agentbox::mcp
