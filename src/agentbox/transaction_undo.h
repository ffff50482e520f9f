// edge: a journal on disk, and taking back what it says was begun.
#pragma once

#include <map>
#include <string>

#include "agentbox/journal.h"
#include "agentbox/workspace.h"
#include "base/handle.h"

namespace agentbox::mcp {

/// The journal's file is named by how far its change has come: its names are decided; its content
/// is staged and names begin to change; all have changed.
inline constexpr const char* kPlannedName = "planned";
inline constexpr const char* kArmedName = "armed";
inline constexpr const char* kDoneName = "done";
/// In KEEP_FOLDER.
inline constexpr const char* kJournalFolderName = "agentbox-changes";

/// The folders of a journal, each opened once.
class Folders {
 public:
  explicit Folders(const Workspace& workspace) : workspace_(workspace) {}
  /// An O_PATH descriptor of the folder, or -1 where it is not there.
  [[nodiscard]] int open(const std::string& folder);
  /// Forgets that FOLDER was not there.
  void forget(const std::string& folder) { open_.erase(folder); }
  void sync();

 private:
  const Workspace& workspace_;
  std::map<std::string, UniqueFd> open_;
};

/// Takes back every step of JOURNAL that was taken, the last one first, then what was staged and
/// made. Words for what could not be taken back; what it was kept as stays then.
[[nodiscard]] std::string undo_changes(const Journal& journal, Folders& folders,
                                       int journal_folder);

/// All changes were made: removes what they deleted.
void clear_stashed(const Journal& journal, const Workspace& workspace);

/// Removes the journal and what lies beside it.
void drop_journal(int journal_folder);

/// The inode of NAME in FOLDER, a link's own; 0: there is none.
[[nodiscard]] std::uint64_t inode_of(int folder, const std::string& name);

}  // namespace agentbox::mcp
