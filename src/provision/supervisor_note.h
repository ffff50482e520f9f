// pure: what the supervisor of a local box tells about itself and its two children (a JSON file).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace agentbox::provision {

inline constexpr std::size_t kMaxNoteBytes = 16U << 10U;

struct ChildNote {
  pid_t pid = 0;               ///< 0: not running now
  std::uint64_t restarts = 0;  ///< times it was started again
  std::string last_end;        ///< how it last ended, in words; empty: never
};

struct SupervisorNote {
  pid_t pid = 0;
  /// Field 22 of /proc/PID/stat: with the pid it names one process, also after the pid was reused.
  std::uint64_t start_ticks = 0;
  ChildNote door;
  ChildNote box;
};

[[nodiscard]] std::string render_note(const SupervisorNote& note);
[[nodiscard]] Result<SupervisorNote> parse_note(std::string_view text);

/// Field 22 of a /proc/PID/stat text; its second field may hold anything in its parentheses.
[[nodiscard]] Result<std::uint64_t> start_ticks_of(std::string_view stat);

}  // namespace agentbox::provision
