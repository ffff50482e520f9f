// edge: the box's memory limit, and which job ends before the kernel or the kubelet ends
// everything.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace agentbox::mcp {

/// Of the limit: beyond this the kernel would soon choose, and a pod's box is killed as a whole.
inline constexpr std::uint64_t kMemoryPercent = 90;
/// Between two looks; a job that grows faster than a tenth of the limit a second is the kernel's.
inline constexpr std::chrono::seconds kMemoryInterval{1};

struct MemoryUse {
  std::uint64_t limit_bytes = 0;
  std::uint64_t used_bytes =
      0;  ///< without what the kernel can drop: files read and not used since
};

/// The control group's, version 2 or 1. Nothing where there is no limit, or none can be read.
[[nodiscard]] std::optional<MemoryUse> read_memory_use();

/// The index in SIZES (bytes of each job's tree) of the job that has to end: the largest, once USE
/// is past kMemoryPercent. Nothing where it is not, or no job holds anything.
[[nodiscard]] std::optional<std::size_t> choose_job_to_end(const MemoryUse& use,
                                                           std::span<const std::uint64_t> sizes);

}  // namespace agentbox::mcp
