// edge: see file_writer.h.
#include "agentbox/file_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "agentbox/file_bytes.h"
#include "agentbox/os_error.h"
#include "base/random.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

// Enough that no name is ever met twice or guessed.
constexpr std::size_t kRandomBytes = 16;
constexpr std::size_t kZeroBytes = 256 * 1024;
constexpr mode_t kNewFileMode = 0644;
constexpr mode_t kPermissionBits = 07777;
constexpr unsigned kNoReplace = 1;  // RENAME_NOREPLACE

std::string random_name(std::string_view prefix) {
  return std::string(prefix) + random_hex(kRandomBytes);
}

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

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
  [[nodiscard]] Outcome<WriteOutcome> append();
  [[nodiscard]] Outcome<UniqueFd> make_temporary();
  [[nodiscard]] std::optional<ToolError> dress(int fd);
  [[nodiscard]] std::optional<ToolError> put_in_place(int fd);
  [[nodiscard]] std::optional<ToolError> check_name_is(const struct stat& expected,
                                                       std::string_view when);
  [[nodiscard]] Outcome<UniqueFd> open_old(int flags);
  [[nodiscard]] int allocate_growth(int fd, std::uint64_t old_size, std::uint64_t new_size);
  [[nodiscard]] std::optional<ToolError> overwrite(int fd, std::uint64_t old_size, int kept);
  [[nodiscard]] WriteOutcome outcome(int fd, std::string sha256) const;
  void sync_folder() const;
  [[nodiscard]] ToolError fault(std::string_view doing, int number) const {
    return os_error(doing, shown_, number);
  }
  [[nodiscard]] ToolError conflict(std::string message) const {
    return {.code = "CONFLICT",
            .message = std::move(message),
            .hint = "Read the file again and repeat the change on what is there now",
            .path = shown_};
  }

  const Workspace& workspace_;
  const BoxPath& path_;
  const WriteRequest& request_;
  const std::string& keep_folder_;
  std::string shown_;
  MadeFolders made_;
  Leaf leaf_;
  std::string temporary_;  // its name while it has one
  std::string previous_sha256_;
  mode_t mode_ = 0;
  bool restored_ = true;  // false: the old content is nowhere but in the keep folder
};

Outcome<WriteOutcome> Writer::run_within_folders() {
  AB_TRY(leaf, workspace_.find_leaf(path_, request_.make_folders ? &made_ : nullptr));
  leaf_ = std::move(leaf);
  if (is_temporary_name(leaf_.name)) {
    return ToolError{.code = "INVALID_ARGUMENT",
                     .message = "names that start with " + std::string(kTemporaryPrefix) +
                                " are for unfinished writes and are removed",
                     .hint = "Choose another name",
                     .path = shown_};
  }
  const auto lock = workspace_.lock_name(leaf_);
  if (auto error = check_preconditions()) {
    return *std::move(error);
  }
  const bool fresh_mode = !leaf_.exists || !request_.keep_mode;
  mode_ = request_.mode ? *request_.mode
          : fresh_mode  ? (kNewFileMode & ~workspace_.umask_bits())
                        : (leaf_.info.st_mode & kPermissionBits);
  if (request_.append && leaf_.exists) {
    return append();
  }
  if (leaf_.exists && leaf_.info.st_nlink > 1) {
    return in_place();
  }
  return replace();
}

std::optional<ToolError> Writer::check_preconditions() {
  if (request_.if_absent && leaf_.exists) {
    return ToolError{.code = "EEXIST",
                     .message = shown_ + " exists already",
                     .hint = "Leave if_absent out to replace it, or choose another name",
                     .path = shown_};
  }
  if (!leaf_.exists) {
    if (request_.if_sha256) {
      return ToolError{.code = "PRECONDITION_FAILED",
                       .message = shown_ + " does not exist, so it does not have that sha256",
                       .hint = "Leave if_sha256 out to create it",
                       .path = shown_};
    }
    return std::nullopt;
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
    ToolError error{.code = "PRECONDITION_FAILED",
                    .message = shown_ + " has sha256 " + previous_sha256_ +
                               ", not the one given; nothing was written",
                    .hint = "Read the file again and repeat the change on what is there now",
                    .path = shown_};
    error.details["sha256"] = previous_sha256_;
    return error;
  }
  return std::nullopt;
}

// Opens the old file and makes sure it is the one that was looked at.
Outcome<UniqueFd> Writer::open_old(int flags) {
  UniqueFd fd(::openat(leaf_.folder.get(), leaf_.name.c_str(),
                       flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd.valid()) {
    return fault("open", errno);
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) {
    return fault("stat", errno);
  }
  if (!same_file(info, leaf_.info) || !S_ISREG(info.st_mode)) {
    return conflict(shown_ + " was replaced by somebody else meanwhile; nothing was written");
  }
  return fd;
}

Outcome<UniqueFd> Writer::make_temporary() {
  if (workspace_.features().unnamed_files) {
    UniqueFd fd(::openat(leaf_.folder.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (fd.valid()) {
      return fd;
    }
    if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT) {  // this file system has none
      return fault("write", errno);
    }
  }
  std::string name = random_name(kTemporaryPrefix);
  UniqueFd fd(::openat(leaf_.folder.get(), name.c_str(),
                       O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0600));
  if (!fd.valid()) {
    return fault("write", errno);
  }
  temporary_ = std::move(name);
  return fd;
}

// Gives the new file its owner, group and bits. A set-id bit goes where its owner or group could
// not be kept: it would hand out somebody else's rights.
std::optional<ToolError> Writer::dress(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) {
    return fault("stat", errno);
  }
  if (leaf_.exists) {
    if (info.st_uid != leaf_.info.st_uid &&
        ::fchown(fd, leaf_.info.st_uid, static_cast<gid_t>(-1)) != 0) {
      mode_ &= ~static_cast<mode_t>(S_ISUID);
    }
    if (info.st_gid != leaf_.info.st_gid &&
        ::fchown(fd, static_cast<uid_t>(-1), leaf_.info.st_gid) != 0) {
      mode_ &= ~static_cast<mode_t>(S_ISGID);
    }
  }
  if (::fchmod(fd, mode_) != 0) {
    return fault("set the mode of", errno);
  }
  return std::nullopt;
}

std::optional<ToolError> Writer::check_name_is(const struct stat& expected, std::string_view when) {
  struct stat now {};
  const int result = ::fstatat(leaf_.folder.get(), leaf_.name.c_str(), &now, AT_SYMLINK_NOFOLLOW);
  if (result != 0 || !same_file(now, expected)) {
    return conflict(shown_ + " was replaced by somebody else " + std::string(when));
  }
  return std::nullopt;
}

// Makes the name refer to the file FD. A name that was free must still be free.
std::optional<ToolError> Writer::put_in_place(int fd) {
  const int folder = leaf_.folder.get();
  if (temporary_.empty()) {
    const std::string self = "/proc/self/fd/" + std::to_string(fd);
    std::string name = leaf_.exists ? random_name(kTemporaryPrefix) : leaf_.name;
    if (::linkat(AT_FDCWD, self.c_str(), folder, name.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      return errno == EEXIST
                 ? conflict(shown_ + " was created by somebody else meanwhile; nothing was written")
                 : fault("write", errno);
    }
    if (!leaf_.exists) {
      return std::nullopt;
    }
    temporary_ = std::move(name);
  }
  int result = 0;
  if (leaf_.exists) {
    if (auto error = check_name_is(leaf_.info, "meanwhile; nothing was written")) {
      return error;
    }
    result = ::renameat(folder, temporary_.c_str(), folder, leaf_.name.c_str());
  } else {
    result = static_cast<int>(::syscall(SYS_renameat2, folder, temporary_.c_str(), folder,
                                        leaf_.name.c_str(), kNoReplace));
    if (result != 0 && (errno == ENOSYS || errno == EINVAL)) {
      result = ::linkat(folder, temporary_.c_str(), folder, leaf_.name.c_str(), 0);
      if (result == 0) {
        (void)::unlinkat(folder, temporary_.c_str(), 0);
      }
    }
  }
  if (result != 0) {
    return errno == EEXIST
               ? conflict(shown_ + " was created by somebody else meanwhile; nothing was written")
               : fault("write", errno);
  }
  temporary_.clear();
  return std::nullopt;
}

Outcome<WriteOutcome> Writer::replace() {
  auto made = make_temporary();
  if (!made.ok()) {
    const std::string& code = made.error().code;
    const bool folder_refuses = code == "EACCES" || code == "EPERM";
    return leaf_.exists && folder_refuses ? in_place()
                                          : Outcome<WriteOutcome>(std::move(made).error());
  }
  const int fd = made->get();
  std::optional<ToolError> error;
  if (const int number = write_all_at(fd, request_.data, 0); number != 0) {
    error = fault("write", number);
  }
  if (!error) {
    error = dress(fd);
  }
  if (!error && request_.sync && ::fsync(fd) != 0) {
    error = fault("sync", errno);
  }
  if (!error) {
    error = put_in_place(fd);
  }
  if (!temporary_.empty()) {
    (void)::unlinkat(leaf_.folder.get(), temporary_.c_str(), 0);
    temporary_.clear();
  }
  if (error) {
    return error->code == "EBUSY" && leaf_.exists
               ? in_place()
               : Outcome<WriteOutcome>(*std::move(error));  // a mount point
  }
  sync_folder();
  // The folder itself may have been moved away while we wrote into it.
  struct stat written {};
  (void)::fstat(fd, &written);
  auto found = workspace_.open_entry(path_);
  struct stat now {};
  if (!found.ok() || ::fstat(found->get(), &now) != 0 || !same_file(written, now)) {
    return conflict(shown_ + " was replaced by somebody else right after it was written");
  }
  return outcome(fd, sha256_hex(request_.data));
}

// 0 where FD can now grow to NEW_SIZE without running out of space, else the errno. Holes in the
// old content are filled too.
int Writer::allocate_growth(int fd, std::uint64_t old_size, std::uint64_t new_size) {
  const auto length = static_cast<off_t>(new_size);
  if (length == 0 || ::fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, length) == 0) {
    return 0;
  }
  if (errno != EOPNOTSUPP && errno != ENOSYS) {
    return errno;
  }
  if (new_size <= old_size) {
    return 0;
  }
  const std::string zeros(kZeroBytes, '\0');
  for (std::uint64_t at = old_size; at < new_size; at += zeros.size()) {
    const auto piece = std::string_view(zeros).substr(0, new_size - at);
    if (const int number = write_all_at(fd, piece, static_cast<off_t>(at)); number != 0) {
      (void)!::ftruncate(fd, static_cast<off_t>(old_size));
      return number;
    }
  }
  return 0;
}

// Puts the new content over the old; brings the old back from KEPT where that fails half way.
std::optional<ToolError> Writer::overwrite(int fd, std::uint64_t old_size, int kept) {
  if (const int number = allocate_growth(fd, old_size, request_.data.size()); number != 0) {
    return fault("write", number);
  }
  int number = write_all_at(fd, request_.data, 0);
  if (number == 0 && ::ftruncate(fd, static_cast<off_t>(request_.data.size())) != 0) {
    number = errno;
  }
  if (number == 0 && request_.sync && ::fsync(fd) != 0) {
    number = errno;
  }
  if (number == 0) {
    return std::nullopt;
  }
  ToolError error = fault("write", number);
  restored_ = copy_all(kept, fd) == 0 && ::ftruncate(fd, static_cast<off_t>(old_size)) == 0 &&
              ::fsync(fd) == 0;
  return error;
}

Outcome<WriteOutcome> Writer::in_place() {
  AB_TRY(file, open_old(O_RDWR));
  const auto old_size = static_cast<std::uint64_t>(leaf_.info.st_size);
  const std::string kept_path = keep_folder_ + "/" + random_name("kept-");
  const UniqueFd kept(
      ::open(kept_path.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0600));
  if (!kept.valid()) {
    return os_error("keep the old content in", keep_folder_, errno);
  }
  int number = copy_all(file.get(), kept.get());
  if (number == 0 && request_.sync && ::fsync(kept.get()) != 0) {
    number = errno;
  }
  std::optional<ToolError> error;
  if (number != 0) {
    error = os_error("keep the old content in", keep_folder_, number);
  } else {
    error = overwrite(file.get(), old_size, kept.get());
  }
  if (restored_) {
    (void)::unlink(kept_path.c_str());
  } else {
    error->hint = "The old content could not be put back; it is kept in " + kept_path;
  }
  if (error) {
    return *std::move(error);
  }
  if ((request_.mode || !request_.keep_mode) && ::fchmod(file.get(), mode_) != 0) {
    return fault("the content was written, but not the mode of", errno);
  }
  if (auto replaced = check_name_is(leaf_.info, "while its old inode was written")) {
    return *std::move(replaced);
  }
  WriteOutcome result = outcome(file.get(), sha256_hex(request_.data));
  result.in_place = true;
  return result;
}

Outcome<WriteOutcome> Writer::append() {
  AB_TRY(file, open_old(O_RDWR | O_APPEND));
  const auto growth = static_cast<off_t>(request_.data.size());
  if (growth > 0 && ::fallocate(file.get(), FALLOC_FL_KEEP_SIZE, leaf_.info.st_size, growth) != 0 &&
      errno != EOPNOTSUPP && errno != ENOSYS) {
    return fault("append to", errno);
  }
  std::string_view rest = request_.data;
  int number = 0;
  while (!rest.empty() && number == 0) {
    const ssize_t put = ::write(file.get(), rest.data(), rest.size());
    if (put < 0 && errno != EINTR) {
      number = errno;
    } else if (put > 0) {
      rest.remove_prefix(static_cast<std::size_t>(put));
    }
  }
  if (number == 0 && request_.sync && ::fsync(file.get()) != 0) {
    number = errno;
  }
  struct stat info {};
  (void)::fstat(file.get(), &info);
  if (number != 0) {
    const auto put = static_cast<off_t>(request_.data.size() - rest.size());
    if (info.st_size ==
        leaf_.info.st_size + put) {  // else somebody else appended too: theirs stays
      (void)!::ftruncate(file.get(), leaf_.info.st_size);
    }
    return fault("append to", number);
  }
  if (request_.mode && ::fchmod(file.get(), mode_) != 0) {
    return fault("the content was appended, but not the mode set of", errno);
  }
  if (auto replaced = check_name_is(leaf_.info, "while its old inode was appended to")) {
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

void Writer::sync_folder() const {
  if (!request_.sync) {
    return;
  }
  const UniqueFd folder(::openat(leaf_.folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.valid()) {
    (void)::fsync(folder.get());
  }
}

}  // namespace

Outcome<WriteOutcome> write_file(const Workspace& workspace, const BoxPath& path,
                                 const WriteRequest& request, const std::string& keep_folder) {
  return Writer(workspace, path, request, keep_folder).run();
}

}  // namespace agentbox::mcp
