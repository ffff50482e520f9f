// edge: gives a file, a link or a folder another name, across file systems too where it is no
// folder.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "agentbox/outcome.h"
#include "agentbox/workspace.h"

namespace agentbox::mcp {

struct MoveRequest {
  bool overwrite = true;                      ///< false: only to a name that is free
  std::optional<std::string> if_sha256 = {};  ///< only a regular file with this content
  std::function<bool()> cancelled = [] { return false; };
};

struct MoveOutcome {
  bool replaced = false;  ///< something had the name before
};

/// Moves the name SOURCE, a link itself and not what it leads to, to the name DESTINATION, whose
/// folders are made. One rename, so that there is never neither nor a half file; between file
/// systems a synced copy is renamed into place before the source goes. Folders are never merged.
/// After a success both folders are on disk.
[[nodiscard]] Outcome<MoveOutcome> move_name(const Workspace& workspace, const BoxPath& source,
                                             const BoxPath& destination,
                                             const MoveRequest& request);

}  // namespace agentbox::mcp
