// edge: see audit_sink.h.
#include "sshd/audit_sink.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <utility>

namespace agentbox::sshd {
namespace {

Result<UniqueFd> open_file(const std::string& path) {
  UniqueFd fd(::open(path.c_str(),
                     O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!fd) {
    return errno_error(path);
  }
  return fd;
}

// Whether the file that PATH names ends inside a line.
bool ends_inside_line(const std::string& path, off_t size) {
  char last = '\n';
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  return size > 0 && fd && ::pread(fd.get(), &last, 1, size - 1) == 1 && last != '\n';
}

}  // namespace

Result<AuditSink> AuditSink::open(const std::string& target, HeadFile head) {
  if (target == "stdout") {
    UniqueFd copy(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    if (!copy) {
      return errno_error("standard output");
    }
    // A reader that stops must stall the sessions, not this process.
    AB_CHECK(set_nonblocking(copy.get(), true));
    return AuditSink(std::move(copy), "", 0, std::move(head));
  }
  AB_TRY(fd, open_file(target));
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return Error{Code::kInvalid, target + ": the audit log must be a regular file"};
  }
  AuditSink sink(std::move(fd), target, static_cast<std::uint64_t>(info.st_size), std::move(head));
  if (ends_inside_line(target, info.st_size)) {
    sink.backlog_.emplace_back("\n");
    sink.flush();
  }
  return sink;
}

void AuditSink::write(const AuditEvent& event) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::string line = event.line(head_.head().sequence + 1,
                                std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  head_.advance(add_chain(head_.head(), line));
  backlog_.push_back(std::move(line) + '\n');
  flush();
}

void AuditSink::flush() {
  while (!backlog_.empty()) {
    std::string& line = backlog_.front();
    if (!path_.empty() && size_ > 0 && size_ + line.size() > kMaxAuditFileBytes) {
      rotate();
    }
    const ssize_t written = ::write(fd_.get(), line.data(), line.size());
    if (written < 0) {
      if (errno == EINTR) {
        continue;
      }
      return;
    }
    const bool whole = static_cast<std::size_t>(written) == line.size();
    if (!whole && !path_.empty() && ::ftruncate(fd_.get(), static_cast<off_t>(size_)) == 0) {
      return;  // the disk is full: a file of whole lines, and this one waits
    }
    size_ += static_cast<std::uint64_t>(written);
    line.erase(0, static_cast<std::size_t>(written));
    if (whole) {
      backlog_.pop_front();
    }
  }
}

void AuditSink::rotate() {
  for (int i = kAuditFiles - 1; i > 0; --i) {
    const std::string from = i == 1 ? path_ : path_ + '.' + std::to_string(i - 1);
    ::rename(from.c_str(), (path_ + '.' + std::to_string(i)).c_str());
  }
  // Where no new file can be made the old one goes on: a longer log is better than a gap.
  if (auto fresh = open_file(path_); fresh.ok()) {
    fd_ = std::move(fresh).value();
    size_ = 0;
  }
}

}  // namespace agentbox::sshd
