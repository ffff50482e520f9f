// edge: see transaction.h.
#include "agentbox/transaction.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "agentbox/box_path.h"
#include "agentbox/file_bytes.h"
#include "agentbox/leaf_file.h"
#include "agentbox/new_file.h"
#include "agentbox/old_file.h"
#include "agentbox/os_error.h"
#include "agentbox/private_folder.h"
#include "agentbox/transaction_undo.h"

namespace agentbox::mcp {
namespace {

constexpr const char* kLockName = "lock";
// Another session's changes take milliseconds; only a slow disk makes them longer.
constexpr std::chrono::seconds kLockTime{20};
constexpr mode_t kNewFileMode = 0644;
constexpr mode_t kNewFolderMode = 0777;
constexpr mode_t kPermissionBits = 07777;
constexpr std::string_view kNothingDone = "nothing was changed";

// The journal's folder, and nobody else changing several files meanwhile.
struct Desk {
  UniqueFd folder = {};
  UniqueFd lock_file = {};
  std::optional<FileLock> lock = {};
};

Result<Desk> open_desk(const std::string& keep_folder, std::chrono::seconds wait, int cancel_fd) {
  Desk desk;
  AB_TRY(folder, open_private_folder(keep_folder, kJournalFolderName));
  desk.folder = std::move(folder);
  AB_TRY(file, open_private_file(desk.folder.get(), kLockName, O_RDWR | O_CREAT));
  desk.lock_file = std::move(file);
  desk.lock =
      FileLock::take(desk.lock_file.get(), std::chrono::steady_clock::now() + wait, cancel_fd);
  if (!desk.lock) {
    return errno_error("another session changes files", EBUSY);
  }
  return desk;
}

bool is_unchanged(const struct stat& a, const struct stat& b) {
  const auto same = [](const timespec& x, const timespec& y) {
    return x.tv_sec == y.tv_sec && x.tv_nsec == y.tv_nsec;
  };
  return same_file(a, b) && a.st_size == b.st_size && a.st_mode == b.st_mode &&
         same(a.st_mtim, b.st_mtim) && same(a.st_ctim, b.st_ctim);
}

// A folder's own size and times change with what is in it.
bool is_unchanged_folder(const struct stat& a, const struct stat& b) {
  return same_file(a, b) && S_ISDIR(a.st_mode);
}

class Transaction {
 public:
  Transaction(const Workspace& workspace, const ChangePlan& plan,
              const std::function<bool()>& cancelled, int journal_folder)
      : workspace_(workspace),
        plan_(plan),
        cancelled_(cancelled),
        journal_folder_(journal_folder),
        folders_(workspace) {}

  std::optional<ToolError> run() {
    if (auto error = change()) {
      return error;
    }
    // From here on it has happened.
    clear_stashed(journal_, workspace_);
    drop_journal(journal_folder_);
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::optional<ToolError> change();
  [[nodiscard]] Journal make_journal();
  void add_missing(const std::string& folder, std::vector<Place>& made);
  [[nodiscard]] std::vector<Workspace::FolderName> names();
  [[nodiscard]] std::optional<ToolError> check_originals();
  [[nodiscard]] std::optional<ToolError> check(const Original& original);
  [[nodiscard]] std::optional<ToolError> keep(const char* name) const;
  [[nodiscard]] std::optional<ToolError> prepare();
  [[nodiscard]] std::optional<ToolError> make_folders();
  [[nodiscard]] std::optional<ToolError> stage(std::size_t index);
  [[nodiscard]] std::optional<ToolError> take_steps();
  // 0 or an errno.
  int take(const JournalStep& step);
  int rename(const JournalStep& step);
  int replace(const JournalStep& step);
  int write_in_place(const JournalStep& step);
  int keep_old(const JournalStep& step);
  [[nodiscard]] bool folder_takes_files(int folder) const;
  [[nodiscard]] std::string show(const Place& place) const {
    return workspace_.show({.relative = path_of(place)});
  }
  [[nodiscard]] ToolError rollback_failed(const ToolError& error, const std::string& stuck) const;

  const Workspace& workspace_;
  const ChangePlan& plan_;
  const std::function<bool()>& cancelled_;
  int journal_folder_;
  Folders folders_;
  Journal journal_;
  std::vector<std::size_t> write_steps_;  // the step of each of the plan's writes
};

// All of it, or an error and none.
std::optional<ToolError> Transaction::change() {
  journal_ = make_journal();
  const auto locks = workspace_.lock_names(names());
  auto error = check_originals();
  if (!error) {
    error = keep(kPlannedName);
  }
  if (!error) {
    error = prepare();
  }
  if (!error) {
    error = keep(kArmedName);
  }
  if (error) {
    journal_.steps.clear();  // none was taken
  } else {
    error = take_steps();
  }
  if (error) {
    const std::string stuck = undo_changes(journal_, folders_, journal_folder_);
    if (!stuck.empty()) {
      return rollback_failed(*error, stuck);
    }
    drop_journal(journal_folder_);
  }
  return error;
}

// Folders above FOLDER that are not there, FOLDER included.
void Transaction::add_missing(const std::string& folder, std::vector<Place>& made) {
  if (folder == "." || folders_.open(folder) >= 0) {
    return;
  }
  const std::size_t slash = folder.rfind('/');
  const Place place{.folder = slash == std::string::npos ? "." : folder.substr(0, slash),
                    .name = folder.substr(slash == std::string::npos ? 0 : slash + 1)};
  add_missing(place.folder, made);
  if (std::find(made.begin(), made.end(), place) == made.end()) {
    made.push_back(place);
  }
}

bool Transaction::folder_takes_files(int folder) const {
  return folder < 0 || ::faccessat(folder, "", W_OK | X_OK, AT_EMPTY_PATH | AT_EACCESS) == 0 ||
         errno != EACCES;
}

Journal Transaction::make_journal() {
  Journal journal;
  struct stat root {};
  (void)::fstat(workspace_.folder(), &root);
  journal.root_device = root.st_dev;
  journal.root_inode = root.st_ino;
  for (const FolderChange& change : plan_.folders) {
    add_missing(change.at.folder == "." ? change.at.name : path_of(change.at), journal.made);
  }
  for (const MoveChange& change : plan_.moves) {
    add_missing(change.to.folder, journal.made);
  }
  for (const WriteChange& change : plan_.writes) {
    add_missing(change.at.folder, journal.made);
  }
  const auto aside = [](const Place& place) {
    return Place{.folder = place.folder, .name = random_name(kTemporaryPrefix)};
  };
  const auto rename = [&journal](const Place& from, const Place& to, std::uint64_t inode) {
    journal.steps.push_back(
        {.kind = StepKind::kRename, .at = to, .from = from, .new_inode = inode});
  };
  for (const RemoveChange& change : plan_.removes) {
    journal.stashed.push_back(aside(change.old.at));
    rename(change.old.at, journal.stashed.back(), change.old.info.st_ino);
  }
  std::vector<Place> sources;
  for (const MoveChange& change : plan_.moves) {
    sources.push_back(change.aside ? aside(change.old.at) : change.old.at);
    if (change.aside) {
      rename(change.old.at, sources.back(), change.old.info.st_ino);
    }
  }
  for (std::size_t i = 0; i < plan_.moves.size(); ++i) {
    rename(sources[i], plan_.moves[i].to, plan_.moves[i].old.info.st_ino);
  }
  for (std::size_t i = 0; i < plan_.writes.size(); ++i) {
    const WriteChange& change = plan_.writes[i];
    write_steps_.push_back(journal.steps.size());
    JournalStep step{.at = change.at};
    if (change.old) {
      step.old_inode = change.old->info.st_ino;
      step.old_mode = change.old->info.st_mode & kPermissionBits;
    }
    if (change.old &&
        (change.old->info.st_nlink > 1 || !folder_takes_files(folders_.open(change.at.folder)))) {
      step.kind = StepKind::kInPlace;
      step.kept = "kept-" + std::to_string(i);
    } else {
      step.from = aside(change.at);
      journal.staged.push_back(step.from);
      if (change.old) {
        step.kind = StepKind::kReplace;
        step.kept = aside(change.at).name;
        journal.stashed.push_back({.folder = change.at.folder, .name = step.kept});
      }
    }
    journal.steps.push_back(std::move(step));
  }
  for (const ModeChange& change : plan_.modes) {
    journal.steps.push_back({.kind = StepKind::kMode,
                             .at = change.at,
                             .old_inode = change.old.info.st_ino,
                             .old_mode = change.old.info.st_mode & kPermissionBits});
  }
  return journal;
}

std::vector<Workspace::FolderName> Transaction::names() {
  std::vector<Workspace::FolderName> names;
  for (const JournalStep& step : journal_.steps) {
    for (const Place& place : {step.at, step.from}) {
      if (const int folder = place.name.empty() ? -1 : folders_.open(place.folder); folder >= 0) {
        names.emplace_back(folder, place.name);
      }
    }
  }
  return names;
}

std::optional<ToolError> Transaction::check(const Original& original) {
  const int folder = folders_.open(original.at.folder);
  struct stat now {};
  const bool there =
      folder >= 0 && ::fstatat(folder, original.at.name.c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0;
  bool same =
      there && (is_unchanged(now, original.info) || is_unchanged_folder(now, original.info));
  if (same && !original.sha256.empty()) {
    // Its clock is too coarse to tell every change.
    const auto file = open_private_file(folder, original.at.name, O_RDONLY);
    const auto hash = file.ok() ? hash_file(file->get(), kMaxHashBytes, cancelled_)
                                : Result<std::string>(file.error());
    same = hash.ok() && *hash == original.sha256;
  }
  const std::string shown = show(original.at);
  return same ? std::nullopt
              : std::optional(conflict(shown, shown + " was changed by somebody else meanwhile; " +
                                                  std::string(kNothingDone)));
}

std::optional<ToolError> Transaction::check_originals() {
  std::optional<ToolError> error;
  const auto look = [&](const Original& original) {
    if (!error) {
      error = check(original);
    }
  };
  for (const RemoveChange& change : plan_.removes) {
    look(change.old);
  }
  for (const MoveChange& change : plan_.moves) {
    look(change.old);
  }
  for (const WriteChange& change : plan_.writes) {
    if (change.old) {
      look(*change.old);
    }
  }
  for (const ModeChange& change : plan_.modes) {
    look(change.old);
  }
  return error;
}

std::optional<ToolError> Transaction::keep(const char* name) const {
  const auto kept = put_private_file(journal_folder_, name, encode_journal(journal_));
  return kept.ok() ? std::nullopt : std::optional(os_error("the journal", kept.error()));
}

std::optional<ToolError> Transaction::make_folders() {
  for (const Place& place : journal_.made) {
    const auto asked = std::find_if(plan_.folders.begin(), plan_.folders.end(),
                                    [&](const FolderChange& change) { return change.at == place; });
    const int parent = folders_.open(place.folder);
    if (::mkdirat(parent, place.name.c_str(), kNewFolderMode) != 0 && errno != EEXIST) {
      return os_error("make", show(place), errno);
    }
    if (asked != plan_.folders.end() && asked->mode &&
        ::fchmodat(parent, place.name.c_str(), *asked->mode, 0) != 0) {
      return os_error("set the mode of", show(place), errno);
    }
  }
  return std::nullopt;
}

// Everything that needs room, before anything is changed.
std::optional<ToolError> Transaction::prepare() {
  if (auto error = make_folders()) {
    return error;
  }
  for (std::size_t i = 0; i < plan_.writes.size(); ++i) {
    if (cancelled_()) {
      return ToolError{.code = "CANCELLED", .message = "the call was cancelled"};
    }
    if (auto error = stage(i)) {
      return error;
    }
  }
  return std::nullopt;
}

std::optional<ToolError> Transaction::stage(std::size_t index) {
  const WriteChange& change = plan_.writes[index];
  JournalStep& step = journal_.steps[write_steps_[index]];
  if (step.kind == StepKind::kInPlace) {
    const int number = keep_old(step);
    return number == 0
               ? std::nullopt
               : std::optional(os_error("keep the old content of", show(change.at), number));
  }
  const int folder = folders_.open(change.at.folder);
  const auto file = open_private_file(folder, step.from.name, O_CREAT | O_EXCL | O_RDWR);
  if (!file.ok()) {
    return os_error("write", show(change.at), file.error().os_errno);
  }
  int number = write_all_at(file->get(), change.content, 0);
  const mode_t fresh = kNewFileMode & ~workspace_.umask_bits();
  mode_t mode =
      change.mode.value_or(change.dress ? change.dress->info.st_mode & kPermissionBits : fresh);
  if (number == 0 && change.dress) {
    const auto old =
        open_private_file(folders_.open(change.dress->at.folder), change.dress->at.name, O_RDONLY);
    if (old.ok()) {
      copy_attributes(old->get(), file->get());
    }
    number = take_owner(file->get(), change.dress->info, mode);
  } else if (number == 0 && ::fchmod(file->get(), mode) != 0) {
    number = errno;
  }
  struct stat info {};
  if (number == 0 && (::fsync(file->get()) != 0 || ::fstat(file->get(), &info) != 0)) {
    number = errno;
  }
  step.new_inode = info.st_ino;
  return number == 0 ? std::nullopt : std::optional(os_error("write", show(change.at), number));
}

int Transaction::keep_old(const JournalStep& step) {
  const auto old = open_private_file(folders_.open(step.at.folder), step.at.name, O_RDONLY);
  const auto kept = open_private_file(journal_folder_, step.kept, O_CREAT | O_EXCL | O_RDWR);
  if (!old.ok() || !kept.ok()) {
    return old.ok() ? kept.error().os_errno : old.error().os_errno;
  }
  const int number = copy_all(old->get(), kept->get(), cancelled_);
  return number == 0 && ::fsync(kept->get()) != 0 ? errno : number;
}

int Transaction::rename(const JournalStep& step) {
  const int from = folders_.open(step.from.folder);
  if (inode_of(from, step.from.name) != step.new_inode) {
    return ESTALE;
  }
  return rename_to_free_name(from, step.from.name, folders_.open(step.at.folder), step.at.name);
}

// The old file has a second name before its own becomes the new one's: there is never neither.
int Transaction::replace(const JournalStep& step) {
  const int folder = folders_.open(step.at.folder);
  const char* const name = step.at.name.c_str();
  if (inode_of(folder, step.at.name) != step.old_inode) {
    return ESTALE;
  }
  if (::linkat(folder, name, folder, step.kept.c_str(), 0) == 0) {
    if (inode_of(folder, step.kept) != step.old_inode) {
      (void)::unlinkat(folder, step.kept.c_str(), 0);
      return ESTALE;
    }
    return ::renameat(folder, step.from.name.c_str(), folder, name) == 0 ? 0 : errno;
  }
  // No links here, or none to somebody else's file.
  if (const int number = rename_to_free_name(folder, step.at.name, folder, step.kept)) {
    return number;
  }
  return rename_to_free_name(folder, step.from.name, folder, step.at.name);
}

int Transaction::write_in_place(const JournalStep& step) {
  const auto change = std::find_if(plan_.writes.begin(), plan_.writes.end(),
                                   [&](const WriteChange& one) { return one.at == step.at; });
  const auto file = open_private_file(folders_.open(step.at.folder), step.at.name, O_RDWR);
  if (!file.ok()) {
    return file.error().os_errno;
  }
  struct stat info {};
  if (::fstat(file->get(), &info) != 0 || info.st_ino != step.old_inode) {
    return ESTALE;
  }
  if (const int number = write_over(
          {.fd = file->get(), .size = static_cast<std::uint64_t>(info.st_size), .shown = {}},
          change->content)) {
    return number;
  }
  return change->mode && ::fchmod(file->get(), *change->mode) != 0 ? errno : 0;
}

int Transaction::take(const JournalStep& step) {
  switch (step.kind) {
    case StepKind::kRename:
      return rename(step);
    case StepKind::kReplace:
      return replace(step);
    case StepKind::kInPlace:
      return write_in_place(step);
    case StepKind::kMode: {
      const auto change = std::find_if(plan_.modes.begin(), plan_.modes.end(),
                                       [&](const ModeChange& one) { return one.at == step.at; });
      const int folder = folders_.open(step.at.folder);
      return inode_of(folder, step.at.name) != step.old_inode                 ? ESTALE
             : ::fchmodat(folder, step.at.name.c_str(), change->mode, 0) != 0 ? errno
                                                                              : 0;
    }
  }
  return EINVAL;
}

std::optional<ToolError> Transaction::take_steps() {
  for (const JournalStep& step : journal_.steps) {
    if (cancelled_()) {
      return ToolError{.code = "CANCELLED", .message = "the call was cancelled"};
    }
    if (const int number = take(step); number != 0) {
      const std::string shown = show(is_temporary_name(step.at.name) ? step.from : step.at);
      const bool foreign = number == ESTALE || number == EEXIST;
      ToolError error = foreign ? conflict(shown, shown + " was changed by somebody else meanwhile")
                                : os_error("change", shown, number == EXDEV ? ENOTSUP : number);
      if (number == EXDEV) {
        error.code = "EXDEV";
        error.message = shown + " cannot go to another file system";
        error.hint = "Use move_file, which copies";
      }
      error.message += "; all was taken back, and " + std::string(kNothingDone);
      return error;
    }
  }
  folders_.sync();
  if (::renameat(journal_folder_, kArmedName, journal_folder_, kDoneName) != 0 ||
      ::fsync(journal_folder_) != 0) {
    return os_error("the journal", errno_error("keep it"));
  }
  return std::nullopt;
}

ToolError Transaction::rollback_failed(const ToolError& error, const std::string& stuck) const {
  return {.code = "ROLLBACK_FAILED",
          .message = error.code + ": " + error.message + "; and these could not be taken back, " +
                     "because somebody else changed them too: " + stuck,
          .hint = "Look at these files; temporary names that start with " +
                  std::string(kTemporaryPrefix) + " beside them have their old content"};
}

std::string recover(const Desk& desk, const Workspace& workspace) {
  const int folder = desk.folder.get();
  struct stat root {};
  (void)::fstat(workspace.folder(), &root);
  for (const char* const name : {kDoneName, kArmedName, kPlannedName}) {
    const auto text = read_private_file(folder, name, kMaxJournalBytes);
    if (!text.ok()) {
      continue;
    }
    auto journal = decode_journal(*text);
    if (!journal.ok()) {
      drop_journal(folder);
      return "a journal of changes was none: " + journal.error().what;
    }
    if (journal->root_device != root.st_dev || journal->root_inode != root.st_ino) {
      return {};  // of another workspace
    }
    Folders folders(workspace);
    std::string stuck;
    if (name == kDoneName) {
      clear_stashed(*journal, workspace);
    } else {
      if (name == kPlannedName) {
        journal->steps.clear();  // none was taken
      }
      stuck = undo_changes(*journal, folders, folder);
    }
    drop_journal(folder);
    return std::string("changes that were cut short were ") +
           (name == kDoneName ? "ended" : "taken back") +
           (stuck.empty() ? "" : ", but for " + stuck);
  }
  drop_journal(folder);  // a kill right at the end leaves old content behind
  return {};
}

}  // namespace

std::optional<ToolError> commit(const Workspace& workspace, const std::string& keep_folder,
                                const ChangePlan& plan, const std::function<bool()>& cancelled,
                                int cancel_fd) {
  auto desk = open_desk(keep_folder, kLockTime, cancel_fd);
  if (!desk.ok()) {
    return os_error("the journal", desk.error());
  }
  (void)recover(*desk, workspace);
  return Transaction(workspace, plan, cancelled, desk->folder.get()).run();
}

std::string recover_changes(const Workspace& workspace, const std::string& keep_folder) {
  const std::string path = keep_folder + "/" + kJournalFolderName;
  if (::access(path.c_str(), F_OK) != 0) {
    return {};
  }
  const auto desk = open_desk(keep_folder, std::chrono::seconds(0), -1);
  return desk.ok() ? recover(*desk, workspace) : std::string();
}

}  // namespace agentbox::mcp
