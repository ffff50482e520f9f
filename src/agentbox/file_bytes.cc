// edge: see file_bytes.h.
#include "agentbox/file_bytes.h"

#include <unistd.h>

#include <cerrno>

#include "base/text.h"

namespace agentbox::mcp {
namespace {

// Large enough that the calls cost nothing beside the copying.
constexpr std::size_t kCopyBytes = 256 * 1024;

}  // namespace

int write_all_at(int fd, std::string_view data, off_t at) {
  while (!data.empty()) {
    const ssize_t put = ::pwrite(fd, data.data(), data.size(), at);
    if (put < 0 && errno == EINTR) {
      continue;
    }
    if (put < 0) {
      return errno;
    }
    data.remove_prefix(static_cast<std::size_t>(put));
    at += put;
  }
  return 0;
}

int copy_all(int from, int to, const std::function<bool()>& cancelled) {
  std::string buffer(kCopyBytes, '\0');
  for (off_t at = 0;;) {
    if (cancelled && cancelled()) {
      return ECANCELED;
    }
    const ssize_t got = ::pread(from, buffer.data(), buffer.size(), at);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return got < 0 ? errno : 0;
    }
    if (const int number = write_all_at(
            to, std::string_view(buffer).substr(0, static_cast<std::size_t>(got)), at)) {
      return number;
    }
    at += got;
  }
}

Result<std::string> read_at(int fd, std::uint64_t at, std::size_t limit) {
  std::string data(limit, '\0');
  std::size_t filled = 0;
  while (filled < limit) {
    const ssize_t got =
        ::pread(fd, data.data() + filled, limit - filled, static_cast<off_t>(at + filled));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return errno_error("read");
    }
    if (got == 0) {
      break;
    }
    filled += static_cast<std::size_t>(got);
  }
  data.resize(filled);
  return data;
}

Result<std::string> hash_file(int fd, std::uint64_t limit, const std::function<bool()>& cancelled) {
  Sha256 hash;
  std::string buffer(kCopyBytes, '\0');
  std::uint64_t at = 0;
  for (;;) {
    if (cancelled && cancelled()) {
      return Error{Code::kUnavailable, "the call was cancelled"};
    }
    const ssize_t got = ::pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return errno_error("read");
    }
    if (got == 0) {
      return hash.hex_digest();
    }
    at += static_cast<std::uint64_t>(got);
    if (at > limit) {
      return Error{Code::kLimit, "the file has more than " + std::to_string(limit) + " bytes"};
    }
    hash.update(std::string_view(buffer).substr(0, static_cast<std::size_t>(got)));
  }
}

bool read_once(int fd, std::string& buffer, std::size_t& got) {
  const ssize_t size = ::read(fd, buffer.data(), buffer.size());
  got = size > 0 ? static_cast<std::size_t>(size) : 0;
  return size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR));
}

}  // namespace agentbox::mcp
