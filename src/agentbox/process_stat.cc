// edge: see process_stat.h.
#include "agentbox/process_stat.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>

#include "agentbox/process_tree.h"
#include "base/handle.h"

namespace agentbox::mcp {
namespace {

// Fields of the line, counted from the state, which is the first after the name.
constexpr std::size_t kParent = 1;
constexpr std::size_t kUserTime = 11;
constexpr std::size_t kSystemTime = 12;
constexpr std::size_t kStart = 19;
constexpr std::size_t kRss = 21;
constexpr std::size_t kFields = 22;

std::string proc_file(std::int64_t pid, std::string_view name, std::size_t limit) {
  const UniqueFd fd(::open(("/proc/" + std::to_string(pid) + "/" + std::string(name)).c_str(),
                           O_RDONLY | O_CLOEXEC));
  std::string text(limit, '\0');
  const ssize_t got = fd.valid() ? ::read(fd.get(), text.data(), text.size()) : -1;
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

}  // namespace

std::optional<ProcessStat> parse_process_stat(std::string_view line) {
  const std::size_t bracket = line.rfind(')');
  if (bracket == std::string_view::npos || bracket + 2 >= line.size()) {
    return std::nullopt;
  }
  line.remove_prefix(bracket + 2);
  ProcessStat stat;
  stat.state = line.front();
  std::array<std::uint64_t, kFields> numbers{};
  for (std::size_t field = 0; field < kFields; ++field) {
    const std::size_t end = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, end);
    if (field > 0 && !word.starts_with('-')) {
      const auto read = std::from_chars(word.data(), word.data() + word.size(), numbers[field]);
      if (read.ec != std::errc()) {
        return std::nullopt;
      }
    }
    if (end == line.size() && field + 1 < kFields) {
      return std::nullopt;
    }
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  stat.parent = static_cast<std::int64_t>(numbers[kParent]);
  stat.cpu_ticks = numbers[kUserTime] + numbers[kSystemTime];
  stat.start = numbers[kStart];
  stat.rss_pages = numbers[kRss];
  return stat;
}

std::optional<ProcessStat> read_process_stat(std::int64_t pid) {
  constexpr std::size_t kMaxLine = 1024;
  return pid > 0 ? parse_process_stat(proc_file(pid, "stat", kMaxLine)) : std::nullopt;
}

bool is_same_process(std::int64_t pid, std::uint64_t start) {
  const auto stat = read_process_stat(pid);
  return stat && stat->start == start && stat->is_live();
}

TreeUsage measure_tree(pid_t pid) {
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  static const auto ticks = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  const auto list = std::make_unique<PidList>();
  find_tree(pid, *list);
  TreeUsage usage;
  for (const pid_t each : list->view()) {
    const auto stat = read_process_stat(each);
    if (stat && stat->is_live()) {
      ++usage.live;
      usage.rss_bytes += stat->rss_pages * page;
      usage.cpu_ms += stat->cpu_ticks * 1000 / ticks;
    }
  }
  return usage;
}

std::string process_command(std::int64_t pid, std::size_t limit) {
  std::string words = proc_file(pid, "cmdline", limit);
  while (!words.empty() && words.back() == '\0') {
    words.pop_back();
  }
  std::replace(words.begin(), words.end(), '\0', ' ');
  if (!words.empty()) {
    return words;
  }
  std::string name = proc_file(pid, "comm", 64);
  while (!name.empty() && name.back() == '\n') {
    name.pop_back();
  }
  return "[" + name + "]";
}

}  // namespace agentbox::mcp
