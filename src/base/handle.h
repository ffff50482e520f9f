// edge: one owner per descriptor, and the few calls everybody makes on them.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/c_handle.h"
#include "base/result.h"

namespace agentbox {

/// Owns a file descriptor. Taken by value it means "yours now".
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      reset(other.release());
    }
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  explicit operator bool() const { return valid(); }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

/// Two descriptors of one pipe or socketpair.
struct FdPair {
  UniqueFd first;
  UniqueFd second;
};

/// A pipe, both ends O_CLOEXEC: first reads, second writes.
[[nodiscard]] Result<FdPair> make_pipe();

/// An AF_UNIX pair, both ends O_CLOEXEC. TYPE is SOCK_STREAM or SOCK_SEQPACKET, with SOCK_NONBLOCK
/// where both ends shall not block.
[[nodiscard]] Result<FdPair> make_socketpair(int type);

[[nodiscard]] Status set_nonblocking(int fd, bool on);

/// Writes all of DATA to a blocking descriptor; EINTR is tried again. A socket or pipe whose
/// reader is gone is an Error, never a signal, provided SIGPIPE is ignored.
[[nodiscard]] Status write_all(int fd, std::string_view data);

/// Opens a regular file read-only without ever blocking (FIFOs, devices and folders are refused
/// by what was opened, not by name) and reads at most LIMIT bytes; a longer file is Code::kLimit.
[[nodiscard]] Result<std::string> read_file_capped(const std::string& path, std::size_t limit);

/// Reads an open regular file from its start, at most LIMIT bytes; a longer one is Code::kLimit.
[[nodiscard]] Result<std::string> read_fd_capped(int fd, std::size_t limit);

/// Replaces PATH whole: temp file beside it with MODE, fsync, rename, fsync of the folder.
[[nodiscard]] Status replace_file(const std::string& path, std::string_view data, unsigned mode);

/// Waits until FD is readable (or hung up), or DEADLINE passes: true, false.
[[nodiscard]] bool wait_readable(int fd, std::chrono::steady_clock::time_point deadline);

}  // namespace agentbox
