// edge: copies a file, a link or a whole folder to another name, which has all of it or nothing.
#pragma once

#include "agentbox/file_copy.h"
#include "agentbox/outcome.h"
#include "agentbox/tree_copier.h"
#include "agentbox/workspace.h"

namespace agentbox::mcp {

struct CopyRequest {
  bool recursive = false;  ///< folders too, with all that is in them
  bool overwrite = false;  ///< a file or an empty folder that has the name may go
  bool kernel_copies = kKernelCopies;
  /// Asked all the time; false ends the copy.
  std::function<bool(const CopyTally&)> go_on = [](const CopyTally&) { return true; };
};

struct CopyOutcome {
  CopyTally tally = {};
  bool replaced = false;  ///< something had the name before
};

/// Copies what the name SOURCE is, a link itself and not what it leads to, to the name DESTINATION,
/// whose folders are made. The copy is made under a temporary name beside it (or none), synced, and
/// renamed; where that fails nothing of it stays. Folders are never merged. Set-id bits stay
/// behind.
[[nodiscard]] Outcome<CopyOutcome> copy_name(const Workspace& workspace, const BoxPath& source,
                                             const BoxPath& destination,
                                             const CopyRequest& request);

}  // namespace agentbox::mcp
