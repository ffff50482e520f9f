// edge: what the box runs on: kernel, processors, memory, disk, programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace agentbox::mcp {

struct Machine {
  std::string hostname;
  std::string os;  ///< PRETTY_NAME of os-release, else the kernel's name
  std::string kernel;
  std::string arch;
  double cpus = 0;  ///< what the scheduler and the control group let us use
  std::uint64_t uptime_seconds = 0;
  unsigned uid = 0;
};
[[nodiscard]] Machine describe_machine();

struct Usage {
  std::uint64_t memory_total_bytes = 0;  ///< the control group's limit where that is lower
  std::uint64_t memory_used_bytes = 0;
  std::uint64_t disk_total_bytes = 0;
  std::uint64_t disk_free_bytes = 0;
  double load1 = 0;
};
/// FOLDER: whose file system counts.
[[nodiscard]] Usage measure_usage(int folder);

struct Confinement {
  bool pidfd = false;
  bool seccomp = false;
  bool subreaper = false;
  bool no_new_privileges = false;
};
[[nodiscard]] Confinement describe_confinement();

/// Those of the well-known development programs that PATH finds.
[[nodiscard]] std::vector<std::string> find_programs(const std::string& path);

}  // namespace agentbox::mcp
