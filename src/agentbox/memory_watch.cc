// edge: see memory_watch.h.
#include "agentbox/memory_watch.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "base/handle.h"

namespace agentbox::mcp {
namespace {

constexpr std::size_t kMaxTextFileBytes = 64 * 1024;
// Version 1 writes a number of this order where there is no limit.
constexpr std::uint64_t kNoLimit = 1ULL << 60;

struct Files {
  const char* limit;
  const char* used;
  const char* stat;
  std::string_view droppable;
};
constexpr Files kVersions[] = {
    {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat",
     "inactive_file "},
    {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes",
     "/sys/fs/cgroup/memory/memory.stat", "total_inactive_file "}};

// The number that begins right after NAME in the file.
std::optional<std::uint64_t> number_in(const char* path, std::string_view name = {}) {
  const auto text = read_file_capped(path, kMaxTextFileBytes);
  const std::size_t at = text.ok() ? text->find(name) : std::string::npos;
  std::uint64_t number = 0;
  if (at == std::string::npos ||
      std::from_chars(text->data() + at + name.size(), text->data() + text->size(), number).ec !=
          std::errc()) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

std::optional<MemoryUse> read_memory_use() {
  for (const Files& files : kVersions) {
    const auto limit = number_in(files.limit);
    const auto used = number_in(files.used);
    if (limit && used && *limit < kNoLimit) {
      const std::uint64_t droppable = number_in(files.stat, files.droppable).value_or(0);
      return MemoryUse{.limit_bytes = *limit, .used_bytes = *used - std::min(*used, droppable)};
    }
  }
  return std::nullopt;
}

std::optional<std::size_t> choose_job_to_end(const MemoryUse& use,
                                             std::span<const std::uint64_t> sizes) {
  const auto largest = std::max_element(sizes.begin(), sizes.end());
  if (use.used_bytes < use.limit_bytes / 100 * kMemoryPercent || largest == sizes.end() ||
      *largest == 0) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(largest - sizes.begin());
}

}  // namespace agentbox::mcp
