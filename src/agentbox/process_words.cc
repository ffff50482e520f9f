// edge: see process_words.h.
#include "agentbox/process_words.h"

#include <algorithm>
#include <csignal>
#include <memory>

#include "agentbox/process_stat.h"
#include "agentbox/process_tree.h"
#include "agentbox/timestamps.h"
#include "agentbox/visible.h"

namespace agentbox::mcp {

Argument process_argument(std::string_view name) {
  return {.name = name,
          .description = "process_id or name.",
          .required = true,
          .min_length = 1,
          .max_length = kMaxJobNameBytes};
}

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(number);
}

std::string started_text(const JobRecord& record) {
  return timestamp_seconds(record.started_ms / 1000);
}

std::string one_line(std::string_view text) {
  std::string shown = make_visible(text).text;
  std::replace(shown.begin(), shown.end(), '\n', ' ');
  return shown;
}

std::string whole_lines(std::string text) {
  if (!text.empty() && !text.ends_with('\n')) {
    text.push_back('\n');
  }
  return text;
}

std::chrono::milliseconds milliseconds_of(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

void leave_off(Box& box, const std::string& id, std::uint64_t from, std::uint64_t next) {
  const std::lock_guard lock(box.cursors_mutex);
  std::uint64_t& cursor = box.cursors[id];
  if (cursor >= from) {
    cursor = next;
  }
}

std::vector<pid_t> live_tree(const JobRecord& record) {
  const auto list = std::make_unique<PidList>();
  find_tree(static_cast<pid_t>(record.of_box() ? record.keeper_pid : record.pid), *list);
  std::vector<pid_t> live;
  for (const pid_t pid : list->view()) {
    const auto stat = read_process_stat(pid);
    if (stat && stat->is_live()) {
      live.push_back(pid);
    }
  }
  return live;
}

}  // namespace agentbox::mcp
