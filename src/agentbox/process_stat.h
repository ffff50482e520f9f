// edge: what the kernel says of one process, for telling it from a successor with its number and
// for adding up what a tree of them uses.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace agentbox::mcp {

struct ProcessStat {
  char state = '?';
  std::int64_t parent = 0;
  std::uint64_t cpu_ticks = 0;  ///< user and system
  std::uint64_t start = 0;      ///< ticks since boot
  std::uint64_t rss_pages = 0;

  [[nodiscard]] bool is_live() const { return state != 'Z' && state != 'X'; }
};

/// The line of /proc/PID/stat; the process chose its name in it, which may hold anything.
[[nodiscard]] std::optional<ProcessStat> parse_process_stat(std::string_view line);
/// Nothing where there is no such process.
[[nodiscard]] std::optional<ProcessStat> read_process_stat(std::int64_t pid);
/// Whether PID is the process that started at START, and lives.
[[nodiscard]] bool is_same_process(std::int64_t pid, std::uint64_t start);

/// What the descendants of a process use together.
struct TreeUsage {
  std::uint64_t live = 0;
  std::uint64_t rss_bytes = 0;
  std::uint64_t cpu_ms = 0;
};
[[nodiscard]] TreeUsage measure_tree(pid_t pid);

/// Its command line, words separated by blanks, at most LIMIT bytes; its name in brackets where it
/// has none.
[[nodiscard]] std::string process_command(std::int64_t pid, std::size_t limit);

}  // namespace agentbox::mcp
