// edge: small files of our own in a folder of our own, and locks between the sessions of a box.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/handle.h"
#include "base/result.h"

namespace agentbox::mcp {

/// The folder NAME in the folder PARENT, made with mode 0700 where it is missing. Refused where it
/// is a link or somebody else's.
[[nodiscard]] Result<UniqueFd> open_private_folder(const std::string& parent,
                                                   const std::string& name);

/// Opens the regular file NAME of FOLDER without ever blocking; a link is not followed. FLAGS may
/// hold O_CREAT, for mode 0600.
[[nodiscard]] Result<UniqueFd> open_private_file(int folder, const std::string& name, int flags);

/// The content of the regular file NAME, at most LIMIT bytes.
[[nodiscard]] Result<std::string> read_private_file(int folder, const std::string& name,
                                                    std::size_t limit);

/// Replaces the file NAME whole; it is on disk with its folder before this returns.
[[nodiscard]] Status put_private_file(int folder, const std::string& name, std::string_view data);

/// The names in FOLDER, at most LIMIT, in no order; "." and ".." are none.
[[nodiscard]] std::vector<std::string> list_names(int folder, std::size_t limit);

/// The kernel's lock (flock) of an open file, which no other session or call has meanwhile. Ends
/// with this object, or with the process.
class FileLock {
 public:
  /// Waits for the lock of FD (borrowed for its life) until DEADLINE, or until CANCEL_FD (-1: none)
  /// is readable.
  [[nodiscard]] static std::optional<FileLock> take(int fd,
                                                    std::chrono::steady_clock::time_point deadline,
                                                    int cancel_fd);
  FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileLock& operator=(FileLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace agentbox::mcp
