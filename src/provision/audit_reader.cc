// edge: see audit_reader.h.
#include "provision/audit_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

namespace agentbox::provision {
namespace {

/// The door keeps this many files; see its audit sink.
constexpr int kAuditFiles = 4;

// The door's user owns the log: the last part of the way is not followed through a link.
Result<UniqueFd> open_log(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0) {
    return errno_error(path);
  }
  if (!S_ISREG(info.st_mode)) {
    return Error{Code::kInvalid, path + ": not a regular file"};
  }
  return fd;
}

bool same_file(int a, int b) {
  struct stat one {};
  struct stat other {};
  return ::fstat(a, &one) == 0 && ::fstat(b, &other) == 0 && one.st_ino == other.st_ino &&
         one.st_dev == other.st_dev;
}

}  // namespace

Status AuditReader::read(const Taker& take) {
  AB_TRY(newest, open_log(path_));
  if (fd_ && same_file(fd_.get(), newest.get())) {
    return read_open_file(take);
  }
  if (fd_) {
    AB_CHECK(read_open_file(take));  // what came before the log was turned over
  } else {
    for (int i = kAuditFiles - 1; i > 0; --i) {
      auto older = open_log(path_ + "." + std::to_string(i));
      if (older.ok()) {
        fd_ = std::move(older).value();
        AB_CHECK(read_open_file(take));
      }
    }
  }
  fd_ = std::move(newest);
  return read_open_file(take);
}

Status AuditReader::read_open_file(const Taker& take) {
  std::array<char, 65536> chunk{};
  for (;;) {
    const ssize_t got = ::read(fd_.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return errno_error(path_);
    }
    if (got == 0) {
      return {};
    }
    pending_.append(chunk.data(), static_cast<std::size_t>(got));
    cut_lines(take);
  }
}

void AuditReader::cut_lines(const Taker& take) {
  std::string_view rest = pending_;
  for (auto end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    const std::string_view text = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    if (const auto line = parse_audit_line(text); line.ok()) {
      take(*line, text);
    } else {
      ++strange_;
    }
  }
  pending_.erase(0, pending_.size() - rest.size());
  if (pending_.size() > kMaxAuditLineBytes) {
    pending_.clear();
    ++strange_;
  }
}

}  // namespace agentbox::provision
