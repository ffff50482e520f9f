// edge: see audit_reader.h.
#include "provision/audit_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace agentbox::provision {
namespace {

/// The door keeps this many files; see its audit sink.
constexpr int kAuditFiles = 4;

// The door's user owns a box's log: the last part of the way is not followed through a link.
Result<UniqueFd> open_of_box(const std::string& path) {
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

Result<UniqueFd> open_chosen(const std::string& path) {
  UniqueFd fd(path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                          : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    return errno_error(path == "-" ? "standard input" : path);
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

Result<UniqueFd> AuditReader::open(const std::string& path) const {
  return kind_ == LogPath::kOfBox ? open_of_box(path) : open_chosen(path);
}

Status AuditReader::read(const Taker& take, const OtherTaker& other) {
  AB_TRY(newest, open(path_));
  if (fd_ && same_file(fd_.get(), newest.get())) {
    return read_open_file(take, other);
  }
  if (fd_) {
    AB_CHECK(read_open_file(take, other));  // what came before the log was turned over
    end_file(other);
  } else {
    for (int i = kAuditFiles - 1; i > 0 && path_ != "-"; --i) {
      auto older = open(path_ + "." + std::to_string(i));
      if (older.ok()) {
        fd_ = std::move(older).value();
        AB_CHECK(read_open_file(take, other));
        end_file(other);
      }
    }
  }
  fd_ = std::move(newest);
  return read_open_file(take, other);
}

Status AuditReader::read_open_file(const Taker& take, const OtherTaker& other) {
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
    cut_lines(take, other);
  }
}

// No line goes on in the next file.
void AuditReader::end_file(const OtherTaker& other) {
  if (!pending_.empty() && other) {
    other(pending_);
  }
  pending_.clear();
  skipping_ = false;
}

void AuditReader::cut_lines(const Taker& take, const OtherTaker& other) {
  std::string_view rest = pending_;
  for (auto end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    std::string_view text = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    if (std::exchange(skipping_, false)) {
      continue;  // the end of what was too long
    }
    if (text.ends_with('\r')) {
      text.remove_suffix(1);
      carriage_returns_ = true;
    }
    if (const auto line = parse_audit_line(text); line.ok()) {
      take(*line, text);
    } else if (!text.empty() && other) {
      other(text);
    }
  }
  pending_.erase(0, pending_.size() - rest.size());
  if (pending_.size() > kMaxAuditLineBytes) {
    if (!skipping_ && other) {
      other(pending_);
    }
    pending_.clear();
    skipping_ = true;
  }
}

}  // namespace agentbox::provision
