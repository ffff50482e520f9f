// edge: see tree_copier.h.
#include "agentbox/tree_copier.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "agentbox/beneath.h"
#include "agentbox/box_path.h"
#include "agentbox/directory.h"
#include "agentbox/file_copy.h"
#include "agentbox/folder_names.h"
#include "agentbox/limits.h"
#include "agentbox/new_file.h"
#include "agentbox/os_error.h"

namespace agentbox::mcp {
namespace {

// Without the set-id bits: a copy is the caller's own, and hands out no rights of its source.
constexpr mode_t kCopiedFileBits = 0777;
constexpr mode_t kCopiedFolderBits = 01777;
// Names of folders still to be copied.
constexpr std::size_t kMaxPendingBytes = 64 * kMiB;

class TreeCopier {
 public:
  TreeCopier(const CopiedTree& tree, const CopyOptions& options, CopyTally& tally)
      : tree_(tree), options_(options), tally_(tally) {}

  std::optional<ToolError> run() {
    if (::fstat(tree_.to.get(), &target_) != 0) {
      return target_fault("", errno);
    }
    std::optional<ToolError> error;
    pending_.emplace_back();
    while (!pending_.empty() && !error) {
      const std::string path = std::move(pending_.back());
      pending_.pop_back();
      pending_bytes_ -= path.size();
      error = copy_folder(path);
    }
    return error;
  }

 private:
  // A folder as it is and as it becomes, and its path in the tree: "" or "a/b/".
  struct Ends {
    FolderNames from;
    UniqueFd to;
    std::string prefix;
  };

  std::optional<ToolError> copy_folder(const std::string& path) {
    Ends ends{.from = FolderNames(open_below(tree_.from, path)), .to = {}, .prefix = path};
    if (!ends.from.ok()) {
      return source_fault("open", path, errno);
    }
    ends.to = open_below(tree_.to, path);
    if (!ends.to.valid()) {
      return target_fault(path, errno);
    }
    if (!path.empty()) {
      ends.prefix += '/';
    }
    struct stat info {};
    if (::fstat(ends.from.folder(), &info) != 0) {
      return source_fault("stat", path, errno);
    }
    if (same_file(info, target_)) {
      return into_itself(path);
    }
    if (auto error = copy_entries(ends)) {
      return error;
    }
    const int number = dress_folder(ends, info.st_mode);
    return number != 0 ? std::optional(target_fault(path, number)) : std::nullopt;
  }

  std::optional<ToolError> copy_entries(Ends& ends) {
    while (const dirent* const entry = ends.from.next()) {
      if (!options_.go_on(tally_)) {
        return copy_cancelled();
      }
      if (is_temporary_name(entry->d_name)) {
        continue;
      }
      if (++names_ > kMaxCopiedNames) {
        return too_large("more than " + std::to_string(kMaxCopiedNames) + " names");
      }
      if (auto error = copy_entry(ends, entry->d_name)) {
        return error;
      }
    }
    return std::nullopt;
  }

  std::optional<ToolError> copy_entry(const Ends& ends, const char* name) {
    struct stat info {};
    if (::fstatat(ends.from.folder(), name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
      // Gone since its name was read: as if it had never been there.
      return errno == ENOENT ? std::nullopt
                             : std::optional(source_fault("stat", ends.prefix + name, errno));
    }
    switch (info.st_mode & S_IFMT) {
      case S_IFREG:
        return copy_file_entry(ends, name);
      case S_IFLNK:
        return copy_link_entry(ends, name);
      case S_IFDIR:
        return note_folder(ends, name);
      default:
        return cannot_copy_special(show(tree_.from_name, ends.prefix + name));
    }
  }

  std::optional<ToolError> copy_file_entry(const Ends& ends, const char* name) {
    const UniqueFd from(::openat(ends.from.folder(), name,
                                 O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    struct stat info {};
    if (!from.valid() || ::fstat(from.get(), &info) != 0) {
      return errno == ENOENT ? std::nullopt
                             : std::optional(source_fault("open", ends.prefix + name, errno));
    }
    if (!S_ISREG(info.st_mode)) {  // it was a moment ago
      return cannot_copy_special(show(tree_.from_name, ends.prefix + name));
    }
    const UniqueFd to(
        ::openat(ends.to.get(), name, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0600));
    const int number = to.valid() ? copy_file(from.get(), to.get(), options_, tally_) : errno;
    if (number == ECANCELED) {
      return copy_cancelled();
    }
    return number != 0 ? std::optional(target_fault(ends.prefix + name, number)) : std::nullopt;
  }

  std::optional<ToolError> copy_link_entry(const Ends& ends, const char* name) {
    const UniqueFd link(::openat(ends.from.folder(), name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    const auto target = read_link(link.get());
    if (!target.ok()) {
      return source_fault("read link", ends.prefix + name, target.error().os_errno);
    }
    if (::symlinkat(target->c_str(), ends.to.get(), name) != 0) {
      return target_fault(ends.prefix + name, errno);
    }
    ++tally_.files;
    return std::nullopt;
  }

  std::optional<ToolError> note_folder(const Ends& ends, const char* name) {
    std::string path = ends.prefix + name;
    const auto depth = std::count(path.begin(), path.end(), '/') + 1;
    if (static_cast<std::size_t>(depth) > kMaxCopiedDepth) {
      return too_large("more than " + std::to_string(kMaxCopiedDepth) +
                       " folders below one another");
    }
    pending_bytes_ += path.size();
    if (pending_bytes_ > kMaxPendingBytes) {
      return too_large("too many folders beside one another");
    }
    if (::mkdirat(ends.to.get(), name, 0700) != 0) {
      return target_fault(path, errno);
    }
    pending_.push_back(std::move(path));
    return std::nullopt;
  }

  // What the folder looks like from outside. A group that it inherited here is not the source's.
  static int dress_folder(const Ends& ends, mode_t mode) {
    struct stat made {};
    copy_attributes(ends.from.folder(), ends.to.get());
    if (::fstat(ends.to.get(), &made) != 0 ||
        ::fchmod(ends.to.get(), (mode & kCopiedFolderBits) | (made.st_mode & S_ISGID)) != 0) {
      return errno;
    }
    return 0;
  }

  static std::string show(const std::string& top, const std::string& path) {
    return quote_name(path.empty() ? top : top + "/" + path);
  }
  [[nodiscard]] ToolError source_fault(std::string_view doing, const std::string& path,
                                       int number) const {
    return os_error(doing, show(tree_.from_name, path), number);
  }
  [[nodiscard]] ToolError target_fault(const std::string& path, int number) const {
    return os_error("copy to", show(tree_.to_name, path), number);
  }
  [[nodiscard]] ToolError too_large(const std::string& what) const {
    return {.code = "TOO_LARGE",
            .message = quote_name(tree_.from_name) + " holds " + what + "; nothing was copied",
            .hint = "Copy smaller parts of it, or use shell_exec with cp -a",
            .path = quote_name(tree_.from_name)};
  }
  [[nodiscard]] ToolError into_itself(const std::string& path) const {
    return {
        .code = "CONFLICT",
        .message = show(tree_.from_name, path) + " was moved meanwhile to where the copy is made",
        .hint = "Try again when nobody moves it",
        .path = quote_name(tree_.from_name)};
  }

  const CopiedTree& tree_;
  const CopyOptions& options_;
  CopyTally& tally_;
  struct stat target_ {};
  std::size_t names_ = 0;
  std::vector<std::string> pending_;  // folders made and not yet filled, by their paths
  std::size_t pending_bytes_ = 0;
};

}  // namespace

int copy_file(int from, int to, const CopyOptions& options, CopyTally& tally) {
  const std::uint64_t before = tally.bytes;
  const CopyWatch watch = [&](std::uint64_t bytes) {
    tally.bytes += bytes;
    return options.go_on(tally);
  };
  struct stat info {};
  if (::fstat(from, &info) != 0) {
    return errno;
  }
  if (const int number = copy_content(from, to, options.kernel_copies, watch); number != 0) {
    return number;
  }
  copy_attributes(from, to);
  if (::fchmod(to, info.st_mode & kCopiedFileBits) != 0) {
    return errno;
  }
  ++tally.files;
  tally.bytes = before + static_cast<std::uint64_t>(info.st_size);  // holes count
  return 0;
}

ToolError cannot_copy_special(const std::string& name) {
  return {.code = "INVALID_ARGUMENT",
          .message = name + " is a FIFO, a socket or a device; nothing was copied",
          .hint = "Only files, links and folders are copied; use shell_exec with cp -a for others",
          .path = name};
}

ToolError copy_cancelled() {
  return {.code = "CANCELLED", .message = "the call was cancelled; nothing was copied"};
}

std::optional<ToolError> copy_tree(const CopiedTree& tree, const CopyOptions& options,
                                   CopyTally& tally) {
  return TreeCopier(tree, options, tally).run();
}

}  // namespace agentbox::mcp
