// edge: changes mode, owner and group of a name, or of all in a folder, and follows no link.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>

#include "agentbox/outcome.h"
#include "agentbox/workspace.h"

namespace agentbox::mcp {

struct PermissionRequest {
  /// Bits without set-id ones. In a tree, folders may also be searched by whoever may read them.
  std::optional<mode_t> mode = {};
  std::optional<uid_t> owner = {};
  std::optional<gid_t> group = {};
  bool recursive = false;
  /// Asked all the time, with the names seen so far; false ends the call.
  std::function<bool(std::uint64_t)> go_on = [](std::uint64_t) { return true; };
};

struct PermissionOutcome {
  mode_t mode = 0;            ///< of PATH itself, now
  std::uint64_t changed = 0;  ///< names that were not so already
};

/// A link at the end of PATH is refused, links in a tree are passed over. An error in the middle of
/// a tree tells in its details how many were changed.
[[nodiscard]] Outcome<PermissionOutcome> set_permissions(const Workspace& workspace,
                                                         const BoxPath& path,
                                                         const PermissionRequest& request);

}  // namespace agentbox::mcp
