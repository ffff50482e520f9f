// edge: see copier.h.
#include "agentbox/copier.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "agentbox/leaf_file.h"
#include "agentbox/new_file.h"
#include "agentbox/os_error.h"
#include "agentbox/remover.h"

namespace agentbox::mcp {
namespace {

bool is_folder(const struct stat& info) { return S_ISDIR(info.st_mode); }

// Opens for reading what ENTRY (O_PATH) is, without going by a name again.
UniqueFd reopen(int entry, int flags) {
  const std::string self = "/proc/self/fd/" + std::to_string(entry);
  return UniqueFd(::open(self.c_str(), flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

// True where the folder INNER is TOP or lies somewhere below it.
bool is_within(const UniqueFd& inner, const struct stat& top) {
  UniqueFd here(::openat(inner.get(), ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat below {};
  struct stat info {};
  while (here.valid() && ::fstat(here.get(), &info) == 0 && !same_file(info, below)) {
    if (same_file(info, top)) {
      return true;
    }
    below = info;  // the root's ".." is itself
    here = UniqueFd(::openat(here.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  return false;
}

class Copier {
 public:
  Copier(const Workspace& workspace, const BoxPath& source, const BoxPath& destination,
         const CopyRequest& request)
      : workspace_(workspace),
        source_(source),
        destination_(destination),
        request_(request),
        options_{.kernel_copies = request.kernel_copies, .go_on = request.go_on},
        source_shown_(workspace.show(source)),
        destination_shown_(workspace.show(destination)) {}

  Outcome<CopyOutcome> run() {
    auto error = run_within_folders();
    if (error) {
      made_.undo();
      return *std::move(error);
    }
    made_.sync();
    sync_folder(to_.folder.get());
    return CopyOutcome{.tally = tally_, .replaced = to_.exists};
  }

 private:
  [[nodiscard]] std::optional<ToolError> run_within_folders();
  [[nodiscard]] std::optional<ToolError> open_source();
  [[nodiscard]] std::optional<ToolError> check_destination() const;
  [[nodiscard]] std::optional<ToolError> copy();
  [[nodiscard]] std::optional<ToolError> copy_one_file();
  [[nodiscard]] std::optional<ToolError> copy_link();
  [[nodiscard]] std::optional<ToolError> copy_folder();
  [[nodiscard]] std::optional<ToolError> fill_folder(const std::string& temporary);
  [[nodiscard]] std::optional<ToolError> take_name(const std::string& temporary);
  [[nodiscard]] ToolError fault(int number) const;
  [[nodiscard]] ToolError taken() const {
    return {.code = "EEXIST",
            .message = destination_shown_ + " exists already; nothing was copied",
            .hint = "Set overwrite to replace a file, or choose another name",
            .path = destination_shown_};
  }
  [[nodiscard]] ToolError wrong(std::string message, std::string hint) const {
    return {.code = "INVALID_ARGUMENT",
            .message = std::move(message),
            .hint = std::move(hint),
            .path = source_shown_};
  }
  [[nodiscard]] ToolError changed() const {
    return conflict(
        destination_shown_,
        destination_shown_ + " was changed by somebody else meanwhile; nothing was copied");
  }

  const Workspace& workspace_;
  const BoxPath& source_;
  const BoxPath& destination_;
  const CopyRequest& request_;
  const CopyOptions options_;
  std::string source_shown_;
  std::string destination_shown_;
  MadeFolders made_;
  UniqueFd entry_;  // the source, O_PATH
  struct stat from_ {};
  Leaf to_;
  struct stat copied_ {};  // what has the name in the end
  CopyTally tally_;
};

std::optional<ToolError> Copier::run_within_folders() {
  if (auto error = open_source()) {
    return error;
  }
  auto to = workspace_.find_name(destination_, &made_);
  if (!to.ok()) {
    return std::move(to).error();
  }
  to_ = std::move(*to);
  if (auto error = check_destination()) {
    return error;
  }
  if (auto error = copy()) {
    return error;
  }
  if (!workspace_.leads_to(destination_, copied_)) {
    return conflict(destination_shown_, source_shown_ + " was copied, but somebody else changed " +
                                            destination_shown_ + " right after");
  }
  return std::nullopt;
}

std::optional<ToolError> Copier::open_source() {
  auto entry = workspace_.open_name(source_);
  if (!entry.ok()) {
    return os_error(source_shown_, entry.error());
  }
  entry_ = std::move(*entry);
  if (::fstat(entry_.get(), &from_) != 0) {
    return os_error("stat", source_shown_, errno);
  }
  if (is_folder(from_) && !request_.recursive) {
    ToolError error = os_error("copy", source_shown_, EISDIR);
    error.hint = "Set recursive to copy the folder and all in it";
    return error;
  }
  if (!is_folder(from_) && !S_ISREG(from_.st_mode) && !S_ISLNK(from_.st_mode)) {
    return cannot_copy_special(source_shown_);
  }
  return std::nullopt;
}

std::optional<ToolError> Copier::check_destination() const {
  if (auto error = refuse_temporary_name(to_, destination_shown_)) {
    return error;
  }
  if (is_folder(from_) && is_within(to_.folder, from_)) {
    return wrong("a folder cannot be copied into itself: " + destination_shown_ + " is inside " +
                     source_shown_,
                 "Choose a destination outside it");
  }
  if (!to_.exists) {
    return std::nullopt;
  }
  if (same_file(to_.info, from_)) {
    return wrong("source and destination are the same file", "Give another destination");
  }
  if (!request_.overwrite) {
    return taken();
  }
  if (is_folder(from_) != is_folder(to_.info)) {
    return fault(is_folder(from_) ? ENOTDIR : EISDIR);
  }
  return std::nullopt;
}

ToolError Copier::fault(int number) const {
  if (number == ECANCELED) {
    return copy_cancelled();
  }
  if (number == EEXIST && !request_.overwrite) {
    return taken();
  }
  return replace_error("copy to", destination_shown_, number);
}

std::optional<ToolError> Copier::copy() {
  if (is_folder(from_)) {
    return copy_folder();
  }
  return S_ISLNK(from_.st_mode) ? copy_link() : copy_one_file();
}

std::optional<ToolError> Copier::copy_one_file() {
  const UniqueFd source = reopen(entry_.get(), O_RDONLY);
  if (!source.valid()) {
    return os_error("open", source_shown_, errno);
  }
  auto made = NewFile::create(to_.folder.get(), workspace_.features());
  if (!made.ok()) {
    return fault(made.error().os_errno);
  }
  int number = copy_file(source.get(), made->fd(), options_, tally_);
  if (number == 0 && (::fsync(made->fd()) != 0 || ::fstat(made->fd(), &copied_) != 0)) {
    number = errno;
  }
  if (number != 0) {
    return fault(number);
  }
  const auto lock = workspace_.lock_name(to_);
  const auto naming = made->put(to_.name, to_.exists ? &to_.info : nullptr);
  if (!naming.ok()) {
    return fault(naming.error().os_errno);
  }
  if (*naming == Naming::kTaken && !request_.overwrite) {
    return taken();
  }
  return *naming == Naming::kDone ? std::nullopt : std::optional(changed());
}

std::optional<ToolError> Copier::copy_link() {
  const auto target = read_link(entry_.get());
  if (!target.ok()) {
    return os_error(source_shown_, target.error());
  }
  const std::string temporary = random_name(kTemporaryPrefix);
  if (::symlinkat(target->c_str(), to_.folder.get(), temporary.c_str()) != 0) {
    return fault(errno);
  }
  tally_.files = 1;
  auto error = take_name(temporary);
  if (error) {
    (void)::unlinkat(to_.folder.get(), temporary.c_str(), 0);
  }
  return error;
}

std::optional<ToolError> Copier::copy_folder() {
  const std::string temporary = random_name(kTemporaryPrefix);
  if (::mkdirat(to_.folder.get(), temporary.c_str(), 0700) != 0) {
    return fault(errno);
  }
  auto error = fill_folder(temporary);
  if (!error) {
    error = take_name(temporary);
  }
  if (error) {
    remove_made_tree(workspace_, to_, temporary);
  }
  return error;
}

std::optional<ToolError> Copier::fill_folder(const std::string& temporary) {
  const UniqueFd source = reopen(entry_.get(), O_RDONLY | O_DIRECTORY);
  if (!source.valid()) {
    return os_error("open", source_shown_, errno);
  }
  const UniqueFd copy(::openat(to_.folder.get(), temporary.c_str(),
                               O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!copy.valid()) {
    return fault(errno);
  }
  const CopiedTree tree{.from = source,
                        .to = copy,
                        .from_name = absolute_path(source_, workspace_.names()),
                        .to_name = absolute_path(destination_, workspace_.names())};
  if (auto error = copy_tree(tree, options_, tally_)) {
    return error;
  }
  // All of it at once: one by one a project of many small files would take minutes.
  return ::syncfs(copy.get()) != 0 ? std::optional(fault(errno)) : std::nullopt;
}

// Gives the finished copy its name.
std::optional<ToolError> Copier::take_name(const std::string& temporary) {
  const int folder = to_.folder.get();
  if (::fstatat(folder, temporary.c_str(), &copied_, AT_SYMLINK_NOFOLLOW) != 0) {
    return fault(errno);
  }
  const auto lock = workspace_.lock_name(to_);
  if (!to_.exists) {
    const int number = rename_to_free_name(folder, temporary, folder, to_.name);
    return number == 0                              ? std::nullopt
           : number == EEXIST && request_.overwrite ? std::optional(changed())
                                                    : std::optional(fault(number));
  }
  if (!names_file(folder, to_.name, to_.info)) {
    return changed();
  }
  return ::renameat(folder, temporary.c_str(), folder, to_.name.c_str()) == 0
             ? std::nullopt
             : std::optional(fault(errno));
}

}  // namespace

Outcome<CopyOutcome> copy_name(const Workspace& workspace, const BoxPath& source,
                               const BoxPath& destination, const CopyRequest& request) {
  return Copier(workspace, source, destination, request).run();
}

}  // namespace agentbox::mcp
