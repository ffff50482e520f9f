// edge: see transaction_undo.h.
#include "agentbox/transaction_undo.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "agentbox/box_path.h"
#include "agentbox/file_bytes.h"
#include "agentbox/new_file.h"
#include "agentbox/private_folder.h"
#include "agentbox/remover.h"
#include "agentbox/transaction.h"

namespace agentbox::mcp {
namespace {

// Names in the journal's folder; more are not of our making.
constexpr std::size_t kMaxNames = 4096;
constexpr const char* kLockName = "lock";

// Takes back the steps of one journal.
class Undo {
 public:
  Undo(Folders& folders, int journal_folder) : folders_(folders), journal_folder_(journal_folder) {}

  // Whether the step is as if it had never been taken.
  bool take_back(const JournalStep& step) {
    const int at = folders_.open(step.at.folder);
    if (at < 0) {
      return true;  // the folder was never made
    }
    switch (step.kind) {
      case StepKind::kRename:
        return rename_back(step, at);
      case StepKind::kReplace:
        return put_back(step, at);
      case StepKind::kInPlace:
        return rewrite(step, at);
      case StepKind::kMode:
        return change_mode(step, at);
    }
    return false;
  }

 private:
  // Where it is at neither place, the step was not taken, or an earlier one goes on with it; only a
  // real name must have it back.
  bool rename_back(const JournalStep& step, int at) {
    const int from = folders_.open(step.from.folder);
    if (inode_of(at, step.at.name) == step.new_inode) {
      return from >= 0 && rename_to_free_name(at, step.at.name, from, step.from.name) == 0;
    }
    return is_temporary_name(step.from.name) || inode_of(from, step.from.name) == step.new_inode;
  }

  static bool put_back(const JournalStep& step, int at) {
    const std::uint64_t now = inode_of(at, step.at.name);
    const bool kept = inode_of(at, step.kept) == step.old_inode;
    if (now == step.old_inode) {
      return !kept || ::unlinkat(at, step.kept.c_str(), 0) == 0;
    }
    if (now == step.new_inode && kept) {
      return ::renameat(at, step.kept.c_str(), at, step.at.name.c_str()) == 0;
    }
    return now == 0 && kept && rename_to_free_name(at, step.kept, at, step.at.name) == 0;
  }

  bool rewrite(const JournalStep& step, int at) {
    const auto kept = open_private_file(journal_folder_, step.kept, O_RDONLY);
    if (!kept.ok()) {
      return true;  // it was never begun
    }
    const auto file = open_private_file(at, step.at.name, O_RDWR);
    struct stat info {};
    return file.ok() && ::fstat(file->get(), &info) == 0 && info.st_ino == step.old_inode &&
           ::fstat(kept->get(), &info) == 0 && copy_all(kept->get(), file->get()) == 0 &&
           ::ftruncate(file->get(), info.st_size) == 0 &&
           ::fchmod(file->get(), step.old_mode) == 0 && ::fsync(file->get()) == 0;
  }

  static bool change_mode(const JournalStep& step, int at) {
    return inode_of(at, step.at.name) != step.old_inode ||
           ::fchmodat(at, step.at.name.c_str(), step.old_mode, 0) == 0;
  }

  Folders& folders_;
  int journal_folder_;
};

}  // namespace

int Folders::open(const std::string& folder) {
  const auto found = open_.find(folder);
  if (found != open_.end()) {
    return found->second.get();
  }
  auto opened = workspace_.open_entry({.relative = folder});
  struct stat info {};
  const bool is_folder = opened.ok() && ::fstat(opened->get(), &info) == 0 && S_ISDIR(info.st_mode);
  if (!is_folder) {
    return -1;
  }
  return open_.emplace(folder, std::move(*opened)).first->second.get();
}

void Folders::sync() {
  for (const auto& [name, fd] : open_) {
    sync_folder(fd.get());
  }
}

std::uint64_t inode_of(int folder, const std::string& name) {
  struct stat info {};
  return ::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 ? info.st_ino : 0;
}

std::string undo_changes(const Journal& journal, Folders& folders, int journal_folder) {
  Undo undo(folders, journal_folder);
  std::string stuck;
  for (auto step = journal.steps.rbegin(); step != journal.steps.rend(); ++step) {
    if (!undo.take_back(*step)) {
      stuck += (stuck.empty() ? "" : ", ") + quote_name(path_of(step->at));
    }
  }
  for (const Place& staged : journal.staged) {
    (void)::unlinkat(folders.open(staged.folder), staged.name.c_str(), 0);
  }
  for (auto made = journal.made.rbegin(); made != journal.made.rend(); ++made) {
    (void)::unlinkat(folders.open(made->folder), made->name.c_str(), AT_REMOVEDIR);
  }
  folders.sync();
  return stuck;
}

void clear_stashed(const Journal& journal, const Workspace& workspace) {
  for (const Place& stashed : journal.stashed) {
    (void)!remove_name(workspace, {.relative = path_of(stashed)}, {.recursive = true}).ok();
  }
}

void drop_journal(int journal_folder) {
  for (const char* const name : {kArmedName, kPlannedName, kDoneName}) {
    (void)::unlinkat(journal_folder, name, 0);
  }
  (void)::fsync(journal_folder);  // before the old content goes that an armed one needs
  for (const std::string& name : list_names(journal_folder, kMaxNames)) {
    if (name != kLockName) {
      (void)::unlinkat(journal_folder, name.c_str(), 0);
    }
  }
}

}  // namespace agentbox::mcp
