// edge: see beneath.h.
#include "agentbox/beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <deque>

#include "agentbox/box_path.h"
#include "base/defence.h"
#include "base/random.h"

namespace agentbox::mcp {
namespace {

// A rename elsewhere in the tree can make openat2 give up with EAGAIN; it means "again".
constexpr int kOpenat2Tries = 16;

Result<UniqueFd> open_fast(int folder, const std::string& relative, int flags) {
  open_how how{};
  how.flags = static_cast<unsigned>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  for (int attempt = 0; attempt < kOpenat2Tries; ++attempt) {
    const long fd = ::syscall(SYS_openat2, folder, relative.c_str(), &how, sizeof(how));
    if (fd >= 0) {
      return UniqueFd(static_cast<int>(fd));
    }
    if (errno != EAGAIN && errno != EINTR) {
      break;
    }
  }
  return errno_error("open");
}

// Resolves a path name by name, holding every folder on the way open: ".." goes back to the folder
// that was come from, so no rename can lead it out.
class Walk {
 public:
  Walk(int folder, const std::vector<std::string>& names, std::string_view relative)
      : folder_(folder), names_(names) {
    queue(relative);
  }

  Result<UniqueFd> open(int flags) {
    while (!todo_.empty()) {
      const std::string name = std::move(todo_.front());
      todo_.pop_front();
      if (name.empty() || name == ".") {
        continue;
      }
      if (name == "..") {
        if (above_.empty()) {
          return errno_error("open", EXDEV);
        }
        above_.pop_back();
        continue;
      }
      AB_TRY(opened, step(name, flags));
      if (opened.valid()) {
        return opened;
      }
    }
    return open_name(here(), ".", flags);
  }

 private:
  [[nodiscard]] int here() const { return above_.empty() ? folder_ : above_.back().get(); }

  void queue(std::string_view path) {
    std::vector<std::string> names;
    for (;;) {
      const std::size_t end = std::min(path.find('/'), path.size());
      names.emplace_back(path.substr(0, end));
      if (end == path.size()) {
        break;
      }
      path.remove_prefix(end + 1);
    }
    todo_.insert(todo_.begin(), names.begin(), names.end());
  }

  static Result<UniqueFd> open_name(int folder, const std::string& name, int flags) {
    UniqueFd fd(::openat(folder, name.c_str(), flags | O_CLOEXEC));
    if (!fd.valid()) {
      return errno_error("open");
    }
    return fd;
  }

  // Takes NAME: into a folder or a link (nothing returned yet), or opens it, being the last one.
  Result<UniqueFd> step(const std::string& name, int flags) {
    AB_TRY(entry, open_name(here(), name, O_PATH | O_NOFOLLOW));
    struct stat info {};
    if (::fstat(entry.get(), &info) != 0) {
      return errno_error("stat");
    }
    const bool last = todo_.empty();
    if (S_ISLNK(info.st_mode) && !(last && (flags & O_NOFOLLOW) != 0)) {
      AB_CHECK(follow(entry.get()));
      return UniqueFd();
    }
    if (last) {
      return open_name(here(), name, flags | O_NOFOLLOW);
    }
    if (!S_ISDIR(info.st_mode)) {
      return errno_error("open", ENOTDIR);
    }
    above_.push_back(std::move(entry));
    return UniqueFd();
  }

  Status follow(int link) {
    if (++links_ > kMaxLinks) {
      return errno_error("open", ELOOP);
    }
    AB_TRY(target, read_link(link));
    if (!target.starts_with('/')) {
      queue(target);
      return {};
    }
    const std::string rest = below_root(target, names_);
    if (rest.empty()) {
      return errno_error("open", EXDEV);
    }
    above_.clear();
    queue(rest);
    return {};
  }

  int folder_;
  const std::vector<std::string>& names_;
  std::deque<std::string> todo_;
  std::vector<UniqueFd> above_;  // the folders from below the root to where we are
  int links_ = 0;
};

bool probe_openat2(int folder) { return open_fast(folder, ".", O_PATH | O_DIRECTORY).ok(); }

bool probe_inotify() { return UniqueFd(::inotify_init1(IN_CLOEXEC)).valid(); }

bool probe_unnamed_files(int folder) {
  const UniqueFd file(::openat(folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  if (!file.valid()) {
    return false;
  }
  const std::string name = std::string(kTemporaryPrefix) + random_hex(16);
  const std::string self = "/proc/self/fd/" + std::to_string(file.get());
  if (::linkat(AT_FDCWD, self.c_str(), folder, name.c_str(), AT_SYMLINK_FOLLOW) != 0) {
    return false;
  }
  return ::unlinkat(folder, name.c_str(), 0) == 0;
}

}  // namespace

KernelFeatures KernelFeatures::probe(int folder) {
#ifdef AGENTBOX_PORTABLE_ONLY
  (void)folder;
  (void)probe_openat2;
  (void)probe_unnamed_files;
  (void)probe_inotify;
  return {};
#else
  return {.openat2 = probe_openat2(folder),
          .unnamed_files = probe_unnamed_files(folder),
          .inotify = probe_inotify()};
#endif
}

Result<UniqueFd> Beneath::open(std::string_view relative, int flags) const {
  if (!defended("path-confinement")) {
    return UniqueFd(::openat(folder_.get(), std::string(relative).c_str(), flags | O_CLOEXEC));
  }
  if (use_openat2_) {
    auto opened = open_fast(folder_.get(), std::string(relative), flags);
    // EXDEV may also be an absolute link that comes back in, EAGAIN a busy tree: the walk knows.
    if (opened.ok() || (opened.error().os_errno != EXDEV && opened.error().os_errno != EAGAIN)) {
      return opened;
    }
  }
  return Walk(folder_.get(), names_, relative).open(flags);
}

Result<std::string> read_link(int link) {
  std::array<char, PATH_MAX> target;
  const ssize_t size = ::readlinkat(link, "", target.data(), target.size());
  if (size < 0) {
    return errno_error("read link");
  }
  return std::string(target.data(), static_cast<std::size_t>(size));
}

}  // namespace agentbox::mcp
