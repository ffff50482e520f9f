// edge: see file_copy.h.
#include "agentbox/file_copy.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "agentbox/file_bytes.h"

namespace agentbox::mcp {
namespace {

// Between two looks at whether to go on; a slow disk takes a second for it.
constexpr off_t kKernelBytes = 16L << 20;
constexpr off_t kBufferBytes = 256L << 10;

class ContentCopy {
 public:
  ContentCopy(int from, int to, bool kernel_copies, const CopyWatch& watch)
      : from_(from), to_(to), kernel_copies_(kernel_copies), watch_(watch) {}

  int run() {
    struct stat info {};
    if (::fstat(from_, &info) != 0) {
      return errno;
    }
    if (kernel_copies_ && ::ioctl(to_, FICLONE, from_) == 0) {
      return watch_(static_cast<std::uint64_t>(info.st_size)) ? 0 : ECANCELED;
    }
    for (off_t at = 0; at < info.st_size;) {
      const off_t data = next(at, SEEK_DATA, info.st_size);
      const off_t hole = next(data, SEEK_HOLE, info.st_size);
      if (const int number = copy_piece(data, std::max(hole, data)); number != 0) {
        return number;
      }
      at = std::max(hole, data + 1);
    }
    // A hole at the end is made by the length alone.
    struct stat now {};
    if (::fstat(from_, &now) != 0 || ::ftruncate(to_, info.st_size) != 0) {
      return errno;
    }
    return is_changed(info, now) ? ESTALE : 0;
  }

 private:
  // What was appended meanwhile changes nothing of what was copied; all else may.
  static bool is_changed(const struct stat& before, const struct stat& now) {
    const bool written = before.st_mtim.tv_sec != now.st_mtim.tv_sec ||
                         before.st_mtim.tv_nsec != now.st_mtim.tv_nsec;
    return now.st_size < before.st_size || (now.st_size == before.st_size && written);
  }

  // Where the next data or hole begins, at most at END. Without an answer all is data.
  [[nodiscard]] off_t next(off_t at, int what, off_t end) const {
    if (at >= end) {
      return end;
    }
    const off_t found = ::lseek(from_, at, what);
    if (found >= 0) {
      return std::min(found, end);
    }
    return errno == ENXIO || what == SEEK_HOLE ? end : at;
  }

  int copy_piece(off_t at, off_t end) {
    while (at < end) {
      const ssize_t done =
          kernel_copies_ ? let_kernel_copy(at, end - at) : read_and_write(at, end - at);
      if (done < 0 && errno == EINTR) {
        continue;
      }
      if (done <= 0 && kernel_copies_ && !is_final(done)) {
        kernel_copies_ = false;  // not between these two; by hand then
        continue;
      }
      if (done <= 0) {
        return done < 0 ? errno : 0;
      }
      at += done;
      if (!watch_(static_cast<std::uint64_t>(done))) {
        return ECANCELED;
      }
    }
    return 0;
  }

  // Whether reading and writing by hand would end like this too.
  static bool is_final(ssize_t done) {
    return done < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EIO || errno == EFBIG);
  }

  [[nodiscard]] ssize_t let_kernel_copy(off_t at, off_t size) const {
    off_t in = at;
    off_t out = at;
    return ::copy_file_range(from_, &in, to_, &out,
                             static_cast<std::size_t>(std::min(size, kKernelBytes)), 0);
  }

  ssize_t read_and_write(off_t at, off_t size) {
    buffer_.resize(static_cast<std::size_t>(kBufferBytes));
    const ssize_t got =
        ::pread(from_, buffer_.data(), static_cast<std::size_t>(std::min(size, kBufferBytes)), at);
    if (got <= 0) {
      return got;
    }
    errno = write_all_at(to_, {buffer_.data(), static_cast<std::size_t>(got)}, at);
    return errno == 0 ? got : -1;
  }

  int from_;
  int to_;
  bool kernel_copies_;
  const CopyWatch& watch_;
  std::string buffer_;
};

}  // namespace

int copy_content(int from, int to, bool kernel_copies, const CopyWatch& watch) {
  return ContentCopy(from, to, kernel_copies, watch).run();
}

}  // namespace agentbox::mcp
