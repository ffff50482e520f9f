// edge: several changes of the workspace's files that all happen or none, whatever ends us.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agentbox/journal.h"
#include "agentbox/outcome.h"
#include "agentbox/workspace.h"

namespace agentbox::mcp {

/// What was found at a place when the changes were planned, and must still be there.
struct Original {
  Place at = {};
  struct stat info {};
  std::string sha256 = {};  ///< where its content was read
};

/// A file that gets this content. A file with several names, or in a folder that takes no new one,
/// keeps its inode.
struct WriteChange {
  Place at = {};
  std::string content = {};
  std::optional<mode_t> mode = {};     ///< else that of DRESS, else 0644 less the umask
  std::optional<Original> old = {};    ///< what it replaces, a regular file
  std::optional<Original> dress = {};  ///< whose owner, mode and attributes it gets
};
struct RemoveChange {
  Original old = {};  ///< a folder with all that is in it
};
struct MoveChange {
  Original old = {};
  Place to = {};
  bool aside = false;  ///< by way of a temporary name: something else of this set leaves TO
};
struct ModeChange {
  Original old = {};
  Place at = {};  ///< where it is once what moves has moved
  mode_t mode = 0;
};
struct FolderChange {
  Place at = {};
  std::optional<mode_t> mode = {};  ///< else 0777 less the umask
};

/// Places that are not there but for one change are each named by one change only. Folders on the
/// way are made.
struct ChangePlan {
  std::vector<FolderChange> folders = {};
  std::vector<RemoveChange> removes = {};
  std::vector<MoveChange> moves = {};
  std::vector<WriteChange> writes = {};
  std::vector<ModeChange> modes = {};
};

/// Carries PLAN out: new content is staged beside its places, a journal in KEEP_FOLDER is synced,
/// then names change one after another; a failure on the way, or a kill and the next recover(),
/// takes all of it back. Other sessions of the box wait meanwhile. Once this returns success it is
/// on disk. CONFLICT: something is no longer what the plan says; ROLLBACK_FAILED tells what could
/// not be taken back.
[[nodiscard]] std::optional<ToolError> commit(const Workspace& workspace,
                                              const std::string& keep_folder,
                                              const ChangePlan& plan,
                                              const std::function<bool()>& cancelled,
                                              int cancel_fd);

/// Takes back, or ends, what a killed commit() left in the middle. Words for the log where there
/// was something.
std::string recover_changes(const Workspace& workspace, const std::string& keep_folder);

}  // namespace agentbox::mcp
