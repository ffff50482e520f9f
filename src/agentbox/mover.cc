// edge: see mover.h.
#include "agentbox/mover.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "agentbox/file_copy.h"
#include "agentbox/leaf_file.h"
#include "agentbox/new_file.h"
#include "agentbox/os_error.h"

namespace agentbox::mcp {
namespace {

constexpr std::string_view kNothingDone = "nothing was moved";

bool same_folder(const Leaf& a, const Leaf& b) {
  struct stat left {};
  struct stat right {};
  return ::fstat(a.folder.get(), &left) == 0 && ::fstat(b.folder.get(), &right) == 0 &&
         same_file(left, right);
}

class Mover {
 public:
  Mover(const Workspace& workspace, const BoxPath& source, const BoxPath& destination,
        const MoveRequest& request)
      : workspace_(workspace),
        source_(source),
        destination_(destination),
        request_(request),
        source_shown_(workspace.show(source)),
        destination_shown_(workspace.show(destination)) {}

  Outcome<MoveOutcome> run() {
    auto result = run_within_folders();
    if (!result.ok()) {
      made_.undo();
      return result;
    }
    made_.sync();
    sync_folder(to_.folder.get());
    sync_folder(from_.folder.get());
    return result;
  }

 private:
  Outcome<MoveOutcome> run_within_folders();
  [[nodiscard]] std::optional<ToolError> check_request() const;
  [[nodiscard]] int rename() const;
  [[nodiscard]] std::optional<ToolError> copy_across();
  [[nodiscard]] std::optional<ToolError> copy_file();
  [[nodiscard]] std::optional<ToolError> copy_link();
  [[nodiscard]] std::optional<ToolError> drop_source() const;
  [[nodiscard]] ToolError fault(int number) const;
  [[nodiscard]] ToolError taken() const {
    return {.code = "EEXIST",
            .message = destination_shown_ + " exists already; nothing was moved",
            .hint = "Set overwrite to replace a file, or choose another name",
            .path = destination_shown_};
  }

  const Workspace& workspace_;
  const BoxPath& source_;
  const BoxPath& destination_;
  const MoveRequest& request_;
  std::string source_shown_;
  std::string destination_shown_;
  MadeFolders made_;
  Leaf from_;
  Leaf to_;
};

std::optional<ToolError> Mover::check_request() const {
  if (!from_.exists) {
    return os_error("move", source_shown_, ENOENT);
  }
  if (auto error = refuse_temporary_name(to_, destination_shown_)) {
    return error;
  }
  if (from_.name == to_.name && same_folder(from_, to_)) {
    return ToolError{.code = "INVALID_ARGUMENT",
                     .message = "source and destination are the same name",
                     .hint = "Give another destination",
                     .path = source_shown_};
  }
  if (to_.exists && !request_.overwrite) {
    return taken();
  }
  if (!request_.if_sha256) {
    return std::nullopt;
  }
  if (!S_ISREG(from_.info.st_mode)) {
    return ToolError{.code = "INVALID_ARGUMENT",
                     .message = "if_sha256 is for regular files, and " + source_shown_ + " is none",
                     .hint = "Leave if_sha256 out",
                     .path = source_shown_};
  }
  return require_sha256(from_, source_shown_, *request_.if_sha256, kNothingDone,
                        request_.cancelled);
}

// 0 or an errno.
int Mover::rename() const {
  if (!request_.overwrite) {
    return rename_to_free_name(from_.folder.get(), from_.name, to_.folder.get(), to_.name);
  }
  if (to_.exists && same_file(to_.info, from_.info)) {
    // Two names of one file: rename() would leave both and call it done.
    return ::unlinkat(from_.folder.get(), from_.name.c_str(), 0) == 0 ? 0 : errno;
  }
  return ::renameat(from_.folder.get(), from_.name.c_str(), to_.folder.get(), to_.name.c_str()) == 0
             ? 0
             : errno;
}

ToolError Mover::fault(int number) const {
  if (number == EEXIST && !request_.overwrite) {
    return taken();
  }
  if (number == EINVAL) {
    return {.code = "INVALID_ARGUMENT",
            .message = "a folder cannot be moved into itself: " + destination_shown_ +
                       " is inside " + source_shown_,
            .hint = "Choose a destination outside it",
            .path = source_shown_};
  }
  ToolError error = replace_error("move", source_shown_ + " to " + destination_shown_, number);
  error.path = destination_shown_;
  return error;
}

Outcome<MoveOutcome> Mover::run_within_folders() {
  AB_TRY(from, workspace_.find_name(source_, nullptr));
  from_ = std::move(from);
  if (!from_.exists) {
    return os_error("move", source_shown_, ENOENT);
  }
  AB_TRY(to, workspace_.find_name(destination_, &made_));
  to_ = std::move(to);
  const auto locks = workspace_.lock_names(from_, to_);
  if (auto error = check_request()) {
    return *std::move(error);
  }
  const int number = rename();
  if (number == EXDEV) {
    if (auto error = copy_across()) {
      return *std::move(error);
    }
    return MoveOutcome{.replaced = to_.exists};
  }
  if (number != 0) {
    return fault(number);
  }
  if (!workspace_.leads_to(destination_, from_.info)) {
    return conflict(destination_shown_, source_shown_ + " was moved, but somebody else changed " +
                                            destination_shown_ + " right after");
  }
  return MoveOutcome{.replaced = to_.exists};
}

// From one file system to another inside the workspace.
std::optional<ToolError> Mover::copy_across() {
  if (to_.exists && S_ISDIR(to_.info.st_mode)) {
    return fault(EISDIR);
  }
  if (S_ISREG(from_.info.st_mode)) {
    return copy_file();
  }
  if (S_ISLNK(from_.info.st_mode)) {
    return copy_link();
  }
  return ToolError{.code = "EXDEV",
                   .message = source_shown_ + " and " + destination_shown_ +
                              " lie on different file systems, and only files and links are moved "
                              "between such; nothing was moved",
                   .hint = "Use shell_exec with mv",
                   .path = source_shown_};
}

std::optional<ToolError> Mover::copy_file() {
  auto source = open_leaf(from_, source_shown_, O_RDONLY, kNothingDone);
  if (!source.ok()) {
    return std::move(source).error();
  }
  auto made = NewFile::create(to_.folder.get(), workspace_.features());
  if (!made.ok()) {
    return os_error("write", destination_shown_, made.error().os_errno);
  }
  int number = copy_content(source->get(), made->fd(), kKernelCopies,
                            [this](std::uint64_t) { return !request_.cancelled(); });
  if (number == 0) {
    copy_attributes(source->get(), made->fd());
    mode_t mode = from_.info.st_mode & 07777U;
    number = take_owner(made->fd(), from_.info, mode);
  }
  const std::array<timespec, 2> times{from_.info.st_atim, from_.info.st_mtim};
  if (number == 0 && (::futimens(made->fd(), times.data()) != 0 || ::fsync(made->fd()) != 0)) {
    number = errno;
  }
  if (number == ECANCELED) {
    return ToolError{.code = "CANCELLED", .message = "the call was cancelled; nothing was moved"};
  }
  if (number != 0) {
    return os_error("copy to", destination_shown_, number);
  }
  const auto naming = made->put(to_.name, to_.exists ? &to_.info : nullptr);
  if (!naming.ok()) {
    return fault(naming.error().os_errno);
  }
  if (*naming != Naming::kDone) {
    return conflict(
        destination_shown_,
        destination_shown_ + " was changed by somebody else meanwhile; nothing was moved");
  }
  return drop_source();
}

std::optional<ToolError> Mover::copy_link() {
  const UniqueFd link(
      ::openat(from_.folder.get(), from_.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  const auto target = read_link(link.get());
  if (!target.ok()) {
    return os_error(source_shown_, target.error());
  }
  const int folder = to_.folder.get();
  const std::string name = to_.exists ? random_name(kTemporaryPrefix) : to_.name;
  if (::symlinkat(target->c_str(), folder, name.c_str()) != 0) {
    return errno == EEXIST ? taken() : fault(errno);
  }
  if (to_.exists && ::renameat(folder, name.c_str(), folder, to_.name.c_str()) != 0) {
    const int number = errno;
    (void)::unlinkat(folder, name.c_str(), 0);
    return fault(number);
  }
  return drop_source();
}

// The copy has its name; now the source may go.
std::optional<ToolError> Mover::drop_source() const {
  if (!names_file(from_.folder.get(), from_.name, from_.info)) {
    return conflict(source_shown_, destination_shown_ +
                                       " has the content, but somebody else changed " +
                                       source_shown_ + " meanwhile, so that stays");
  }
  if (::unlinkat(from_.folder.get(), from_.name.c_str(), 0) != 0) {
    ToolError error = os_error("delete", source_shown_, errno);
    error.message += "; " + destination_shown_ + " has the content now, and both names exist";
    return error;
  }
  return std::nullopt;
}

}  // namespace

Outcome<MoveOutcome> move_name(const Workspace& workspace, const BoxPath& source,
                               const BoxPath& destination, const MoveRequest& request) {
  return Mover(workspace, source, destination, request).run();
}

}  // namespace agentbox::mcp
