// edge: see permissions.h.
#include "agentbox/permissions.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "agentbox/directory.h"
#include "agentbox/folder_names.h"
#include "agentbox/limits.h"
#include "agentbox/os_error.h"

namespace agentbox::mcp {
namespace {

constexpr mode_t kPermissionBits = 07777;
constexpr mode_t kReadBits = 0444;
// Names of one call; far beyond what a project has.
constexpr std::uint64_t kMaxNames = 1'000'000;
// Names of the folders among them.
constexpr std::size_t kMaxFolderBytes = 64 * kMiB;

class PermissionSetter {
 public:
  PermissionSetter(const Workspace& workspace, const BoxPath& path,
                   const PermissionRequest& request)
      : request_(request),
        shown_(workspace.show(path)),
        absolute_(absolute_path(path, workspace.names())),
        workspace_(workspace.folder()) {}

  Outcome<PermissionOutcome> run(const UniqueFd& entry) {
    struct stat info {};
    if (::fstat(entry.get(), &info) != 0) {
      return os_error("stat", shown_, errno);
    }
    if (S_ISLNK(info.st_mode)) {
      return ToolError{.code = "INVALID_ARGUMENT",
                       .message = shown_ + " is a link, which has no permissions of its own",
                       .hint = "Name what it leads to; file_info tells",
                       .path = shown_};
    }
    if (bars_workspace(info)) {
      return ToolError{.code = "INVALID_ARGUMENT",
                       .message =
                           "without the owner's read, write and search bits nothing could work "
                           "in the workspace any more, this tool neither",
                       .hint = "Leave it at least 0700",
                       .path = shown_};
    }
    auto error = change(entry.get(), info, "");
    if (!error && request_.recursive && S_ISDIR(info.st_mode)) {
      error = change_tree(entry);
    }
    if (error) {
      return *std::move(error);
    }
    if (::fstat(entry.get(), &info) != 0) {
      return os_error("stat", shown_, errno);
    }
    return PermissionOutcome{.mode = info.st_mode & kPermissionBits, .changed = changed_};
  }

 private:
  [[nodiscard]] bool bars_workspace(const struct stat& info) const {
    struct stat root {};
    return ::fstat(workspace_, &root) == 0 && root.st_dev == info.st_dev &&
           root.st_ino == info.st_ino && (wanted_mode(info) & S_IRWXU) != S_IRWXU;
  }

  // Folders get rights on the way down and lose them on the way up: both may bar the way.
  std::optional<ToolError> change_tree(const UniqueFd& top) {
    folders_.emplace_back();
    for (std::size_t next = 0; next < folders_.size(); ++next) {
      const std::string path = folders_[next];
      if (auto error = change_names(top, path)) {
        return error;
      }
    }
    for (auto path = folders_.rbegin(); request_.mode && path != folders_.rend(); ++path) {
      const UniqueFd folder = open_below(top, *path);
      struct stat info {};
      if (!folder.valid() || ::fstat(folder.get(), &info) != 0) {
        return fault("open", *path, errno);
      }
      const mode_t mode = wanted_mode(info);
      if (mode != (info.st_mode & kPermissionBits) && ::fchmod(folder.get(), mode) != 0) {
        return fault("set the mode of", *path, errno);
      }
    }
    return std::nullopt;
  }

  // All in one folder; the folders in it are noted.
  std::optional<ToolError> change_names(const UniqueFd& top, const std::string& path) {
    FolderNames names(open_below(top, path));
    if (!names.ok()) {
      return fault("open", path, errno);
    }
    while (const dirent* const entry = names.next()) {
      if (++seen_ > kMaxNames) {
        return too_many();
      }
      if (!request_.go_on(seen_)) {
        return stopped({.code = "CANCELLED", .message = "the call was cancelled"});
      }
      if (auto error = change_name(names.folder(), path, entry->d_name)) {
        return error;
      }
    }
    return std::nullopt;
  }

  std::optional<ToolError> change_name(int folder, const std::string& above, const char* name) {
    std::string path = above.empty() ? name : above + "/" + name;
    const UniqueFd entry(::openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat info {};
    if (!entry.valid() || ::fstat(entry.get(), &info) != 0) {
      return errno == ENOENT ? std::nullopt : std::optional(fault("open", path, errno));
    }
    if (S_ISLNK(info.st_mode)) {
      return std::nullopt;
    }
    if (auto error = change(entry.get(), info, path)) {
      return error;
    }
    if (S_ISDIR(info.st_mode)) {
      folder_bytes_ += path.size();
      folders_.push_back(std::move(path));
    }
    return folder_bytes_ > kMaxFolderBytes ? std::optional(too_many()) : std::nullopt;
  }

  // ENTRY (O_PATH) is what INFO says. A folder of a tree keeps what it has as yet.
  std::optional<ToolError> change(int entry, const struct stat& info, const std::string& path) {
    const uid_t owner = request_.owner.value_or(info.st_uid);
    const gid_t group = request_.group.value_or(info.st_gid);
    const bool new_owner = owner != info.st_uid || group != info.st_gid;
    if (new_owner && ::fchownat(entry, "", owner, group, AT_EMPTY_PATH) != 0) {
      // In a user namespace that does not know the number it is EINVAL.
      return fault("change the owner of", path, errno == EINVAL ? EPERM : errno);
    }
    const mode_t old = info.st_mode & kPermissionBits;
    const mode_t wanted = wanted_mode(info);
    const mode_t now = request_.recursive && S_ISDIR(info.st_mode) ? (wanted | old) : wanted;
    // By way of /proc: chmod itself would follow a link, and fchmod takes no O_PATH.
    if (request_.mode && now != old &&
        ::chmod(("/proc/self/fd/" + std::to_string(entry)).c_str(), now) != 0) {
      return fault("set the mode of", path, errno);
    }
    changed_ += new_owner || wanted != old ? 1U : 0U;
    return std::nullopt;
  }

  // Folders keep the bit that hands their group on, and in a tree can be entered by who may read.
  [[nodiscard]] mode_t wanted_mode(const struct stat& info) const {
    if (!request_.mode) {
      return info.st_mode & kPermissionBits;
    }
    mode_t mode = *request_.mode;
    if (S_ISDIR(info.st_mode)) {
      mode |= info.st_mode & S_ISGID;
      mode |= request_.recursive ? (mode & kReadBits) >> 2U : 0U;
    }
    return mode;
  }

  [[nodiscard]] ToolError fault(std::string_view doing, const std::string& path, int number) const {
    return stopped(
        os_error(doing, path.empty() ? shown_ : quote_name(absolute_ + "/" + path), number));
  }
  [[nodiscard]] ToolError too_many() const {
    return stopped({.code = "TOO_LARGE",
                    .message = shown_ + " holds more than " + std::to_string(kMaxNames) + " names",
                    .hint = "Change smaller parts of it, or use shell_exec with chmod -R",
                    .path = shown_});
  }
  [[nodiscard]] ToolError stopped(ToolError error) const {
    if (request_.recursive) {
      error.message += "; before that " + std::to_string(changed_) + " were changed";
      error.details["changed"] = changed_;
    }
    return error;
  }

  const PermissionRequest& request_;
  std::string shown_;
  std::string absolute_;
  int workspace_;                     // borrowed
  std::vector<std::string> folders_;  // their paths below the top, those above others first
  std::size_t folder_bytes_ = 0;
  std::uint64_t seen_ = 0;
  std::uint64_t changed_ = 0;
};

}  // namespace

Outcome<PermissionOutcome> set_permissions(const Workspace& workspace, const BoxPath& path,
                                           const PermissionRequest& request) {
  if (auto error = workspace.refuse_output(path)) {
    return *std::move(error);
  }
  const auto entry = workspace.open_name(path);
  if (!entry.ok()) {
    return os_error(workspace.show(path), entry.error());
  }
  return PermissionSetter(workspace, path, request).run(*entry);
}

}  // namespace agentbox::mcp
