// edge: see process_words.h.
#include "agentbox/process_words.h"

#include <algorithm>
#include <csignal>
#include <ctime>
#include <memory>

#include "agentbox/process_stat.h"
#include "agentbox/process_tree.h"
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

std::string time_text(std::int64_t ms) {
  const auto seconds = static_cast<std::time_t>(ms / 1000);
  std::tm parts{};
  char text[32] = {};
  if (::gmtime_r(&seconds, &parts) == nullptr ||
      std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0) {
    return "1970-01-01T00:00:00Z";
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
  find_tree(static_cast<pid_t>(record.is_job ? record.keeper_pid : record.pid), *list);
  std::vector<pid_t> live;
  for (const pid_t pid : list->view()) {
    const auto stat = read_process_stat(pid);
    if (stat && stat->is_live()) {
      live.push_back(pid);
    }
  }
  return live;
}

void ProcessReply::say(std::string_view name, std::string_view value) {
  text_.append(name).append(": ").append(value).append("\n");
}

void ProcessReply::line(const char* name, const std::string& value) {
  data(name, value);
  // One line, whatever the box's own code may have put there.
  std::string shown = make_visible(value).text;
  std::replace(shown.begin(), shown.end(), '\n', ' ');
  say(name, shown);
}

void ProcessReply::line(const char* name, bool value) {
  data(name, value);
  say(name, value ? "true" : "false");
}

void ProcessReply::line(const char* name, std::int64_t value) {
  data(name, value);
  say(name, std::to_string(value));
}

void ProcessReply::line(const char* name, std::uint64_t value) {
  data(name, value);
  say(name, std::to_string(value));
}

ToolResult ProcessReply::finish(std::string_view headline, std::string_view content) {
  if (!headline.empty()) {
    text_.append("--- ").append(headline).append(" ---\n").append(content);
    if (!content.empty() && !content.ends_with('\n')) {
      text_.push_back('\n');
    }
  }
  return {.texts = {std::move(text_)}, .structured = std::move(json_), .error = {}};
}

}  // namespace agentbox::mcp
