// edge: see remover.h.
#include "agentbox/remover.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <vector>

#include "agentbox/folder_names.h"
#include "agentbox/leaf_file.h"
#include "agentbox/new_file.h"
#include "agentbox/os_error.h"

namespace agentbox::mcp {
namespace {

constexpr std::string_view kNothingDone = "nothing was deleted";
// Names of folders remembered while those before them are emptied: reading a wide folder anew for
// each of them would take time by the square.
constexpr std::size_t kMaxNoted = 1000;

// Takes a tree away from its leaves up, with one folder open at a time, so that no depth uses up
// descriptors. The way back up is "..", taken only where it leads to the folder that was come from.
class TreeRemover {
 public:
  TreeRemover(const Workspace& workspace, const Leaf& top, std::string shown,
              const RemoveRequest& request, RemoveOutcome& done)
      : workspace_(workspace),
        top_(top),
        shown_(std::move(shown)),
        request_(request),
        done_(done) {}

  // Empties the folder and removes its name.
  std::optional<ToolError> run() {
    UniqueFd here;
    if (auto error = enter(top_.folder.get(), top_.name, here)) {
      return error;
    }
    while (!levels_.empty()) {
      if (levels_.back().full.empty()) {
        if (auto error = sweep(here.get())) {
          return error;
        }
      }
      if (auto error = levels_.back().full.empty() ? leave(here) : enter_next(here)) {
        return error;
      }
    }
    return std::nullopt;
  }

 private:
  struct Level {
    std::string name;
    struct stat info {};
    std::vector<std::string> full = {};  // folders in it that have to be emptied
  };

  // Opens the folder NAME in PARENT into HERE. What lies on another mount is not ours to delete.
  std::optional<ToolError> enter(int parent, const std::string& name, UniqueFd& here) {
    Level level{.name = name};
    levels_.push_back(level);
    UniqueFd folder = open_same_mount(parent, name);
    if (!folder.valid() && errno == ENOENT && levels_.size() > 1) {
      levels_.pop_back();  // gone by itself
      return std::nullopt;
    }
    if (!folder.valid()) {
      return fault("open", errno == EXDEV ? EBUSY : errno);
    }
    if (::fstat(folder.get(), &levels_.back().info) != 0) {
      return fault("stat", errno);
    }
    if (levels_.back().info.st_dev != top_.info.st_dev) {
      return fault("delete", EBUSY);
    }
    here = std::move(folder);
    return std::nullopt;
  }

  std::optional<ToolError> enter_next(UniqueFd& here) {
    const std::string name = std::move(levels_.back().full.back());
    levels_.back().full.pop_back();
    return enter(here.get(), name, here);
  }

  UniqueFd open_same_mount(int parent, const std::string& name) const {
    if (request_.force) {
      // By way of /proc: by its name that would follow a link.
      const UniqueFd entry(
          ::openat(parent, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      (void)::chmod(("/proc/self/fd/" + std::to_string(entry.get())).c_str(), 0700);
    }
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    if (!workspace_.features().openat2) {
      return UniqueFd(::openat(parent, name.c_str(), kFlags));
    }
    open_how how{};
    how.flags = static_cast<unsigned>(kFlags);
    how.resolve = RESOLVE_NO_XDEV | RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    return UniqueFd(
        static_cast<int>(::syscall(SYS_openat2, parent, name.c_str(), &how, sizeof(how))));
  }

  // Removes all in the folder HERE that goes at once, and notes folders that are not empty.
  std::optional<ToolError> sweep(int here) {
    FolderNames names(UniqueFd(::openat(here, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
    if (!names.ok()) {
      return fault("open", errno);
    }
    std::vector<std::string> full;
    while (const dirent* const entry = full.size() < kMaxNoted ? names.next() : nullptr) {
      if (request_.cancelled()) {
        return stopped({.code = "CANCELLED", .message = "the call was cancelled"});
      }
      const int number = remove_one(here, entry->d_name);
      if (number == ENOTEMPTY || number == EEXIST) {
        full.emplace_back(entry->d_name);
      } else if (number != 0) {
        levels_.push_back({.name = entry->d_name});
        return fault("delete", number);
      }
    }
    levels_.back().full = std::move(full);
    return std::nullopt;
  }

  // 0 or an errno; ENOTEMPTY of a folder that has to be emptied first.
  int remove_one(int folder, const char* name) {
    struct stat info {};
    if (::fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
      return errno == ENOENT ? 0 : errno;
    }
    const bool is_folder = S_ISDIR(info.st_mode);
    if (::unlinkat(folder, name, is_folder ? AT_REMOVEDIR : 0) != 0) {
      return errno == ENOENT ? 0 : errno;
    }
    if (!is_folder) {
      ++done_.files;
      done_.bytes += S_ISREG(info.st_mode) ? static_cast<std::uint64_t>(info.st_size) : 0;
    }
    return 0;
  }

  // Back to the folder above, and removes the name of the one that was HERE.
  std::optional<ToolError> leave(UniqueFd& here) {
    if (levels_.size() == 1) {
      return remove_level(top_.folder.get());
    }
    UniqueFd above(::openat(here.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat info {};
    if (!above.valid() || ::fstat(above.get(), &info) != 0) {
      return fault("open", errno);
    }
    if (!same_file(info, levels_[levels_.size() - 2].info)) {
      return stopped(conflict(path(), path() + " was moved away by somebody else meanwhile"));
    }
    if (auto error = remove_level(above.get())) {
      return error;
    }
    here = std::move(above);
    return std::nullopt;
  }

  std::optional<ToolError> remove_level(int parent) {
    if (::unlinkat(parent, levels_.back().name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) {
      return fault("delete", errno);
    }
    levels_.pop_back();
    return std::nullopt;
  }

  [[nodiscard]] std::string path() const {
    std::string path = shown_;
    for (std::size_t i = 1; i < levels_.size(); ++i) {
      path += "/" + levels_[i].name;
    }
    return levels_.size() > 1 ? quote_name(path) : path;
  }

  [[nodiscard]] ToolError fault(std::string_view doing, int number) const {
    ToolError error = os_error(doing, path(), number);
    if (number == EBUSY) {
      error.hint = "Something is mounted there; only what is around it can be deleted";
    } else if (number == ENOTEMPTY) {
      error.hint = "Somebody else puts files there meanwhile: stop that first";
    }
    return stopped(std::move(error));
  }

  [[nodiscard]] ToolError stopped(ToolError error) const {
    error.message += "; before that " + std::to_string(done_.files) + " files were deleted";
    error.details["files_deleted"] = done_.files;
    error.details["bytes_deleted"] = done_.bytes;
    return error;
  }

  const Workspace& workspace_;
  const Leaf& top_;
  std::string shown_;
  const RemoveRequest& request_;
  RemoveOutcome& done_;
  std::vector<Level> levels_;  // from the top down to the folder that is open
};

std::optional<ToolError> check_request(const Leaf& leaf, const std::string& shown,
                                       const RemoveRequest& request) {
  if (!leaf.exists) {
    return os_error("delete", shown, ENOENT);
  }
  if (!request.if_sha256) {
    return std::nullopt;
  }
  if (!S_ISREG(leaf.info.st_mode)) {
    return ToolError{.code = "INVALID_ARGUMENT",
                     .message = "if_sha256 is for regular files, and " + shown + " is none",
                     .hint = "Leave if_sha256 out",
                     .path = shown};
  }
  return require_sha256(leaf, shown, *request.if_sha256, kNothingDone, request.cancelled);
}

// What goes of a folder without RECURSIVE: an empty one.
Outcome<RemoveOutcome> remove_empty_folder(const Leaf& leaf, const std::string& shown) {
  if (::unlinkat(leaf.folder.get(), leaf.name.c_str(), AT_REMOVEDIR) != 0) {
    const int number = errno == EEXIST ? ENOTEMPTY : errno;
    ToolError error = os_error("delete", shown, number);
    if (number == ENOTEMPTY) {
      error.hint = "Set recursive to delete the folder and all in it";
    }
    return error;
  }
  sync_folder(leaf.folder.get());
  return RemoveOutcome{.mode = leaf.info.st_mode};
}

}  // namespace

Outcome<RemoveOutcome> remove_name(const Workspace& workspace, const BoxPath& path,
                                   const RemoveRequest& request) {
  const std::string shown = workspace.show(path);
  AB_TRY(leaf, workspace.find_name(path, nullptr));
  const auto lock = workspace.lock_name(leaf);
  if (auto error = check_request(leaf, shown, request)) {
    return *std::move(error);
  }
  if (S_ISDIR(leaf.info.st_mode) && !request.recursive) {
    return remove_empty_folder(leaf, shown);
  }
  RemoveOutcome done{.mode = leaf.info.st_mode};
  if (S_ISDIR(leaf.info.st_mode)) {
    if (auto error = TreeRemover(workspace, leaf, shown, request, done).run()) {
      return *std::move(error);
    }
  } else {
    if (!names_file(leaf.folder.get(), leaf.name, leaf.info)) {
      return conflict(shown,
                      shown + " was replaced by somebody else meanwhile; nothing was deleted");
    }
    if (::unlinkat(leaf.folder.get(), leaf.name.c_str(), 0) != 0) {
      return os_error("delete", shown, errno);
    }
    done.files = 1;
    done.bytes = S_ISREG(leaf.info.st_mode) ? static_cast<std::uint64_t>(leaf.info.st_size) : 0;
  }
  sync_folder(leaf.folder.get());
  return done;
}

void remove_made_tree(const Workspace& workspace, const Leaf& beside, const std::string& name) {
  Leaf top;
  top.folder = UniqueFd(::fcntl(beside.folder.get(), F_DUPFD_CLOEXEC, 0));
  top.name = name;
  if (::fstatat(top.folder.get(), name.c_str(), &top.info, AT_SYMLINK_NOFOLLOW) != 0) {
    return;
  }
  RemoveOutcome done;
  (void)TreeRemover(workspace, top, "", {.recursive = true, .force = true}, done).run();
}

}  // namespace agentbox::mcp
