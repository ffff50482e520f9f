// edge: deletes a file, a link or a whole tree, and nothing beyond a mount or behind a link.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "agentbox/outcome.h"
#include "agentbox/workspace.h"

namespace agentbox::mcp {

struct RemoveRequest {
  bool recursive = false;                     ///< folders too, with all that is in them
  bool force = false;                         ///< whatever the modes of the folders in it
  std::optional<std::string> if_sha256 = {};  ///< only a regular file with this content
  std::function<bool()> cancelled = [] { return false; };
};

struct RemoveOutcome {
  mode_t mode = 0;          ///< of what was named, its type included
  std::uint64_t files = 0;  ///< names gone that were no folders
  std::uint64_t bytes = 0;  ///< the sizes of the regular files among them
};

/// Deletes the name PATH; a link itself, never what it leads to. A tree goes from the leaves up and
/// stops at the first name that cannot go; the error then tells in its details how many went.
[[nodiscard]] Outcome<RemoveOutcome> remove_name(const Workspace& workspace, const BoxPath& path,
                                                 const RemoveRequest& request);

/// Removes the folder NAME that we made beside BESIDE, with all in it, as far as that goes.
void remove_made_tree(const Workspace& workspace, const Leaf& beside, const std::string& name);

}  // namespace agentbox::mcp
