// edge: see private_folder.h.
#include "agentbox/private_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/deadline.h"

namespace agentbox::mcp {
namespace {

// The kernel tells nobody when a lock is free again.
constexpr std::chrono::milliseconds kLockInterval{10};

}  // namespace

Result<UniqueFd> open_private_folder(const std::string& parent, const std::string& name) {
  const std::string path = parent + "/" + name;
  (void)::mkdir(path.c_str(), 0700);
  UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!folder.valid() || ::fstat(folder.get(), &info) != 0) {
    return errno_error("open " + path);
  }
  if (info.st_uid != ::geteuid()) {
    return errno_error(path + " belongs to somebody else", EACCES);
  }
  return folder;
}

Result<UniqueFd> open_private_file(int folder, const std::string& name, int flags) {
  UniqueFd file(
      ::openat(folder, name.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600));
  struct stat info {};
  if (!file.valid() || ::fstat(file.get(), &info) != 0) {
    return errno_error("open " + name);
  }
  if (!S_ISREG(info.st_mode)) {
    return errno_error(name + " is no file", ENOENT);
  }
  return file;
}

Result<std::string> read_private_file(int folder, const std::string& name, std::size_t limit) {
  AB_TRY(file, open_private_file(folder, name, O_RDONLY));
  return read_fd_capped(file.get(), limit);
}

Status put_private_file(int folder, const std::string& name, std::string_view data) {
  const std::string fresh = name + ".new";
  (void)::unlinkat(folder, fresh.c_str(), 0);
  AB_TRY(file, open_private_file(folder, fresh, O_CREAT | O_EXCL | O_WRONLY));
  auto written = write_all(file.get(), data);
  if (written.ok() &&
      (::fsync(file.get()) != 0 || ::renameat(folder, fresh.c_str(), folder, name.c_str()) != 0 ||
       ::fsync(folder) != 0)) {
    written = errno_error("keep " + name);
  }
  if (!written.ok()) {
    (void)::unlinkat(folder, fresh.c_str(), 0);
  }
  return written;
}

std::vector<std::string> list_names(int folder, std::size_t limit) {
  std::vector<std::string> names;
  UniqueFd copy(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const CHandle<DIR, ::closedir> dir(copy.valid() ? ::fdopendir(copy.get()) : nullptr);
  if (dir == nullptr) {
    return names;
  }
  (void)copy.release();
  while (const dirent* entry =
             ::readdir(dir.get())) {  // NOLINT(concurrency-mt-unsafe): this DIR is ours alone
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && names.size() < limit) {
      names.emplace_back(name);
    }
  }
  return names;
}

std::optional<FileLock> FileLock::take(int fd, std::chrono::steady_clock::time_point deadline,
                                       int cancel_fd) {
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const auto now = std::chrono::steady_clock::now();
    if ((errno != EWOULDBLOCK && errno != EINTR) || now >= deadline) {
      return std::nullopt;
    }
    pollfd cancelled{cancel_fd, POLLIN, 0};
    if (::poll(&cancelled, 1, poll_timeout(std::min(deadline, now + kLockInterval), now)) > 0) {
      return std::nullopt;
    }
  }
  return FileLock(fd);
}

FileLock::~FileLock() {
  if (fd_ >= 0) {
    (void)::flock(fd_, LOCK_UN);  // by hand: a child forked meanwhile may hold the file open
  }
}

}  // namespace agentbox::mcp
