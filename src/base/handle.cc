// edge: see handle.h.
#include "base/handle.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/deadline.h"
#include "base/random.h"
#include "base/text.h"

namespace agentbox {

void UniqueFd::reset(int fd) {
  if (fd_ >= 0) {
    ::close(fd_);
  }
  fd_ = fd;
}

Result<FdPair> make_pipe() {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) {
    return errno_error("pipe");
  }
  return FdPair{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

Result<FdPair> make_socketpair(int type) {
  std::array<int, 2> fds{};
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds.data()) != 0) {
    return errno_error("socketpair");
  }
  return FdPair{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

Status set_nonblocking(int fd, bool on) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK) != 0) {
    return errno_error("fcntl");
  }
  return {};
}

Status write_all(int fd, std::string_view data) {
  while (!data.empty()) {
    const ssize_t written = ::write(fd, data.data(), data.size());
    if (written < 0) {
      if (errno == EINTR) {
        continue;
      }
      return errno_error("write");
    }
    data.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<std::string> read_fd_capped(int fd, std::size_t limit) {
  std::string data;
  std::array<char, 16384> chunk{};
  for (;;) {
    const ssize_t got = ::read(fd, chunk.data(), chunk.size());
    if (got < 0) {
      if (errno == EINTR) {
        continue;
      }
      return errno_error("read");
    }
    if (got == 0) {
      return data;
    }
    data.append(chunk.data(), static_cast<std::size_t>(got));
    if (data.size() > limit) {
      return Error{Code::kLimit, "larger than " + std::to_string(limit) + " bytes"};
    }
  }
}

Result<std::string> read_file_capped(const std::string& path, std::size_t limit) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) {
    return errno_error(path);
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) {
    return errno_error(path);
  }
  if (!S_ISREG(info.st_mode)) {
    return Error{Code::kInvalid, path + ": not a regular file"};
  }
  auto data = read_fd_capped(fd.get(), limit);
  if (!data.ok()) {
    return std::move(data).error().in(path);
  }
  return data;
}

namespace {

Status sync_folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string folder =
      slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
  const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) {
    return errno_error(folder);
  }
  return {};
}

}  // namespace

Status replace_file(const std::string& path, std::string_view data, unsigned mode) {
  const std::string temp = path + ".new-" + random_hex(8);
  UniqueFd fd(::open(temp.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!fd) {
    return errno_error(temp);
  }
  // open()'s mode passes through the umask; what was asked for is what the file gets.
  Status done = ::fchmod(fd.get(), mode) == 0 ? write_all(fd.get(), data) : errno_error("fchmod");
  if (done.ok() && ::fsync(fd.get()) != 0) {
    done = errno_error("fsync");
  }
  if (done.ok() && ::rename(temp.c_str(), path.c_str()) != 0) {
    done = errno_error("rename");
  }
  if (!done.ok()) {
    ::unlink(temp.c_str());
    return std::move(done).error().in(path);
  }
  return sync_folder_of(path);
}

bool wait_readable(int fd, std::chrono::steady_clock::time_point deadline) {
  for (;;) {
    pollfd entry{fd, POLLIN, 0};
    const int ready = ::poll(&entry, 1, poll_timeout(deadline, std::chrono::steady_clock::now()));
    if (ready > 0) {
      return true;
    }
    if (ready == 0 || errno != EINTR) {
      return false;
    }
  }
}

}  // namespace agentbox
