// edge: see file_writer.h.
#include "agentbox/file_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "agentbox/file_bytes.h"
#include "agentbox/leaf_file.h"
#include "agentbox/new_file.h"
#include "agentbox/old_file.h"
#include "agentbox/os_error.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

constexpr mode_t kNewFileMode = 0644;
constexpr mode_t kPermissionBits = 07777;
constexpr std::string_view kNothingDone = "nothing was written";

// One write, from the name it goes to until that name holds the data.
class Writer {
 public:
  Writer(const Workspace& workspace, const BoxPath& path, const WriteRequest& request,
         const std::string& keep_folder)
      : workspace_(workspace),
        path_(path),
        request_(request),
        keep_folder_(keep_folder),
        shown_(workspace.show(path)) {}

  Outcome<WriteOutcome> run() {
    auto result = run_within_folders();
    if (!result.ok()) {
      made_.undo();
    } else if (request_.sync) {
      made_.sync();
    }
    return result;
  }

 private:
  Outcome<WriteOutcome> run_within_folders();
  [[nodiscard]] std::optional<ToolError> check_preconditions();
  [[nodiscard]] Outcome<WriteOutcome> replace();
  [[nodiscard]] Outcome<WriteOutcome> in_place();
  [[nodiscard]] Outcome<WriteOutcome> append_to_old();
  [[nodiscard]] std::optional<ToolError> fill(NewFile& file);
  [[nodiscard]] std::optional<ToolError> name(NewFile& file);
  [[nodiscard]] std::optional<ToolError> check_name_is_old(std::string_view when) const;
  [[nodiscard]] Outcome<UniqueFd> open_old(int flags) const;
  [[nodiscard]] OldFile old_file(int fd) const;
  [[nodiscard]] WriteOutcome outcome(int fd, std::string sha256) const;
  [[nodiscard]] ToolError fault(std::string_view doing, int number) const {
    return os_error(doing, shown_, number);
  }
  [[nodiscard]] ToolError changed(std::string_view how) const {
    return conflict(shown_, shown_ + " was " + std::string(how));
  }

  const Workspace& workspace_;
  const BoxPath& path_;
  const WriteRequest& request_;
  const std::string& keep_folder_;
  std::string shown_;
  MadeFolders made_;
  Leaf leaf_;
  std::string previous_sha256_;
  mode_t mode_ = 0;
};

Outcome<WriteOutcome> Writer::run_within_folders() {
  AB_TRY(leaf, workspace_.find_leaf(path_, request_.make_folders ? &made_ : nullptr));
  leaf_ = std::move(leaf);
  if (auto error = refuse_temporary_name(leaf_, shown_)) {
    return *std::move(error);
  }
  const auto lock = workspace_.lock_name(leaf_);
  look_again(leaf_);
  if (auto error = check_preconditions()) {
    return *std::move(error);
  }
  const bool fresh_mode = !leaf_.exists || !request_.keep_mode;
  mode_ = request_.mode ? *request_.mode
          : fresh_mode  ? (kNewFileMode & ~workspace_.umask_bits())
                        : (leaf_.info.st_mode & kPermissionBits);
  if (request_.append && leaf_.exists) {
    return append_to_old();
  }
  if (leaf_.exists && leaf_.info.st_nlink > 1) {
    return in_place();
  }
  return replace();
}

std::optional<ToolError> Writer::check_preconditions() {
  if (request_.if_absent && leaf_.exists) {
    return exists_already(shown_);
  }
  if (!leaf_.exists) {
    return request_.if_sha256 ? std::optional(missing_sha256(shown_)) : std::nullopt;
  }
  const auto size = static_cast<std::uint64_t>(leaf_.info.st_size);
  if (!request_.if_sha256 && size > kMaxCasualHashBytes) {
    return std::nullopt;
  }
  auto old = open_old(O_RDONLY);
  if (!old.ok()) {
    return request_.if_sha256 ? std::optional(std::move(old).error()) : std::nullopt;
  }
  auto hash = hash_file(old->get(), kMaxHashBytes, request_.cancelled);
  if (!hash.ok()) {
    return request_.if_sha256 ? std::optional(os_error(shown_, hash.error())) : std::nullopt;
  }
  previous_sha256_ = std::move(*hash);
  if (request_.if_sha256 && *request_.if_sha256 != previous_sha256_) {
    return wrong_sha256(shown_, previous_sha256_, kNothingDone);
  }
  return std::nullopt;
}

Outcome<UniqueFd> Writer::open_old(int flags) const {
  return open_leaf(leaf_, shown_, flags, kNothingDone);
}

OldFile Writer::old_file(int fd) const {
  return {.fd = fd,
          .size = static_cast<std::uint64_t>(leaf_.info.st_size),
          .shown = shown_,
          .sync = request_.sync};
}

// Gives FILE its content, and where it replaces an old one what that was dressed in.
std::optional<ToolError> Writer::fill(NewFile& file) {
  if (const int number = write_all_at(file.fd(), request_.data, 0); number != 0) {
    return fault("write", number);
  }
  int number = 0;
  if (leaf_.exists) {
    if (const auto old = open_old(O_RDONLY); old.ok()) {
      copy_attributes(old->get(), file.fd());
    }
    number = take_owner(file.fd(), leaf_.info, mode_);
  } else if (::fchmod(file.fd(), mode_) != 0) {
    number = errno;
  }
  if (number != 0) {
    return fault("set the mode of", number);
  }
  if (request_.sync && ::fsync(file.fd()) != 0) {
    return fault("sync", errno);
  }
  return std::nullopt;
}

std::optional<ToolError> Writer::name(NewFile& file) {
  const auto naming = file.put(leaf_.name, leaf_.exists ? &leaf_.info : nullptr);
  if (!naming.ok()) {
    return fault("write", naming.error().os_errno);
  }
  switch (*naming) {
    case Naming::kTaken:
      return changed("created by somebody else meanwhile; nothing was written");
    case Naming::kReplaced:
      return changed("replaced by somebody else meanwhile; nothing was written");
    case Naming::kDone:
      break;
  }
  return std::nullopt;
}

std::optional<ToolError> Writer::check_name_is_old(std::string_view when) const {
  if (!names_file(leaf_.folder.get(), leaf_.name, leaf_.info)) {
    return changed("replaced by somebody else " + std::string(when));
  }
  return std::nullopt;
}

Outcome<WriteOutcome> Writer::replace() {
  auto made = NewFile::create(leaf_.folder.get(), workspace_.features());
  if (!made.ok()) {
    const int number = made.error().os_errno;
    const bool folder_refuses = number == EACCES || number == EPERM;
    return leaf_.exists && folder_refuses ? in_place()
                                          : Outcome<WriteOutcome>(fault("write", number));
  }
  auto error = fill(*made);
  if (!error) {
    error = name(*made);
  }
  if (error) {
    return error->code == "EBUSY" && leaf_.exists
               ? in_place()
               : Outcome<WriteOutcome>(*std::move(error));  // a mount point
  }
  if (request_.sync) {
    sync_folder(leaf_.folder.get());
  }
  // The folder itself may have been moved away while we wrote into it.
  struct stat written {};
  (void)::fstat(made->fd(), &written);
  auto found = workspace_.open_entry(path_);
  struct stat now {};
  if (!found.ok() || ::fstat(found->get(), &now) != 0 || !same_file(written, now)) {
    return changed("replaced by somebody else right after it was written");
  }
  return outcome(made->fd(), sha256_hex(request_.data));
}

Outcome<WriteOutcome> Writer::in_place() {
  AB_TRY(file, open_old(O_RDWR));
  if (auto error = overwrite(old_file(file.get()), request_.data, keep_folder_)) {
    return *std::move(error);
  }
  if ((request_.mode || !request_.keep_mode) && ::fchmod(file.get(), mode_) != 0) {
    return fault("the content was written, but not the mode of", errno);
  }
  if (auto replaced = check_name_is_old("while its old inode was written")) {
    return *std::move(replaced);
  }
  WriteOutcome result = outcome(file.get(), sha256_hex(request_.data));
  result.in_place = true;
  return result;
}

Outcome<WriteOutcome> Writer::append_to_old() {
  AB_TRY(file, open_old(O_RDWR | O_APPEND));
  if (auto error = append(old_file(file.get()), request_.data)) {
    return *std::move(error);
  }
  if (request_.mode && ::fchmod(file.get(), mode_) != 0) {
    return fault("the content was appended, but not the mode set of", errno);
  }
  if (auto replaced = check_name_is_old("while its old inode was appended to")) {
    return *std::move(replaced);
  }
  auto hash = hash_file(file.get(), UINT64_MAX);
  if (!hash.ok()) {
    return os_error(shown_, hash.error());
  }
  WriteOutcome result = outcome(file.get(), std::move(*hash));
  result.in_place = true;
  return result;
}

WriteOutcome Writer::outcome(int fd, std::string sha256) const {
  struct stat info {};
  (void)::fstat(fd, &info);
  return {.size = static_cast<std::uint64_t>(info.st_size),
          .mode = info.st_mode & kPermissionBits,
          .sha256 = std::move(sha256),
          .previous_sha256 = previous_sha256_,
          .created = !leaf_.exists};
}

}  // namespace

Outcome<WriteOutcome> write_file(const Workspace& workspace, const BoxPath& path,
                                 const WriteRequest& request, const std::string& keep_folder) {
  return Writer(workspace, path, request, keep_folder).run();
}

}  // namespace agentbox::mcp
