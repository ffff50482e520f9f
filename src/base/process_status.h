// pure: the text of /proc/PID/status (proc(5)) to the rights of one process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace agentbox {

/// A status is about 1.5 KiB.
inline constexpr std::size_t kMaxStatusBytes = 64U << 10U;

struct ProcessStatus {
  std::int64_t pid = 0;
  bool ended = false;     ///< it waits to be reaped: the rest tells of what it was
  std::uint64_t uid = 0;  ///< the effective one
  std::uint64_t gid = 0;
  std::string effective;  ///< capabilities, hex digits; empty where the kernel tells none
  std::string bounding;
  bool no_new_privileges = false;
  std::uint64_t filter = 0;     ///< Seccomp: 2 is a filter
  std::uint64_t pid_depth = 1;  ///< pid namespaces that it lies in, as seen from the reader's
};

/// The kernel escapes the one field that the process chooses, its name. Code::kInvalid where TEXT
/// lacks pid, user or group; capabilities with anything but hex digits count as not told.
[[nodiscard]] Result<ProcessStatus> parse_process_status(std::string_view text);

/// True where a process with these EFFECTIVE capabilities has one of them, or none was told.
[[nodiscard]] bool has_capability(std::string_view effective);

}  // namespace agentbox
