// edge: see local_file.h.
#include "provision/local_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/random.h"
#include "provision/interrupt.h"

namespace agentbox::provision {
namespace {

namespace fs = std::filesystem;

mode_t umask_bits() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return mask;
}

Status sync_folder(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd && ::fsync(fd.get()) == 0 ? Status{} : Status{errno_error(folder)};
}

// A signal that comes right before a read does not end it, so the wait is cut into pieces.
Status await_input(int fd) {
  constexpr int kPieceMs = 200;
  pollfd entry{fd, POLLIN, 0};
  while (!interrupted()) {
    if (::poll(&entry, 1, kPieceMs) > 0) {
      return {};
    }
  }
  return Error{Code::kUnavailable, "interrupted"};
}

}  // namespace

LocalTarget::LocalTarget(LocalTarget&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      fd_(std::move(other.fd_)) {}

LocalTarget::~LocalTarget() {
  if (!temporary_.empty()) {
    ::unlink(temporary_.c_str());
  }
}

Answer<LocalTarget> LocalTarget::open(const std::string& name, std::optional<unsigned> mode) {
  LocalTarget target;
  if (name == "-") {
    target.fd_ = UniqueFd(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    return target.fd_ ? Answer<LocalTarget>(std::move(target))
                      : Answer<LocalTarget>(errno_error("standard output"));
  }
  std::error_code problem;
  // Through a link the file it names is written.
  target.path_ = fs::weakly_canonical(fs::absolute(name, problem), problem).string();
  struct stat info {};
  const bool there = ::stat(name.c_str(), &info) == 0;
  if (problem || name.empty() || name.back() == '/' || (there && !S_ISREG(info.st_mode))) {
    return Failure{Exit::kRefused,
                   name + " is no name for a regular file, or something else is there",
                   "name a file; - writes to standard output"};
  }
  target.temporary_ = target.path_ + ".agentbox-" + random_hex(8);
  target.fd_ = UniqueFd(::open(target.temporary_.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!target.fd_) {
    const Error why = errno_error(name);
    target.temporary_.clear();
    return failure_of(why, "name a file in a folder that exists and can be written");
  }
  const mode_t usual = there ? info.st_mode & 07777U : 0666U & ~umask_bits();
  if (::fchmod(target.fd_.get(), mode.value_or(usual)) != 0) {
    return errno_error(name);
  }
  return target;
}

Status LocalTarget::write(std::string_view bytes) const { return write_all(fd_.get(), bytes); }

Status LocalTarget::finish() {
  if (is_stream()) {
    return {};
  }
  if (::fsync(fd_.get()) != 0 || std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return errno_error(path_);
  }
  temporary_.clear();
  return sync_folder(path_);
}

Answer<LocalSource> LocalSource::open(const std::string& name) {
  LocalSource source;
  const bool stream = name == "-";
  source.fd_ = UniqueFd(stream ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                               : ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!source.fd_ || ::fstat(source.fd_.get(), &info) != 0) {
    return failure_of(errno_error(name), "name a file that can be read; - reads standard input");
  }
  if (!stream && !S_ISREG(info.st_mode)) {
    return Failure{Exit::kRefused, name + " is no regular file",
                   "name a file; - reads standard input"};
  }
  source.mode_ = stream ? 0 : info.st_mode & 0777U;
  source.size_ = S_ISREG(info.st_mode) ? static_cast<std::uint64_t>(info.st_size) : 0;
  return source;
}

Result<std::string> LocalSource::read(std::size_t bytes) const {
  std::string data(bytes, '\0');
  std::size_t have = 0;
  while (have < bytes) {
    AB_CHECK(await_input(fd_.get()));
    const ssize_t got = ::read(fd_.get(), data.data() + have, bytes - have);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return errno_error("read");
    }
    if (got == 0) {
      break;
    }
    have += static_cast<std::size_t>(got);
  }
  data.resize(have);
  return data;
}

}  // namespace agentbox::provision
