// edge: what the replies of the process tools have in common.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agentbox/arguments.h"
#include "agentbox/box.h"
#include "agentbox/job_id.h"
#include "agentbox/job_record.h"
#include "agentbox/tool.h"

namespace agentbox::mcp {

/// Bytes of one process_input.
inline constexpr std::size_t kMaxProcessInputBytes = 1UL << 20;
/// Columns or rows; more than any screen has.
inline constexpr double kMaxTerminalSize = 1000;

/// The argument that names a process.
[[nodiscard]] Argument process_argument(std::string_view name);

/// "SIGKILL".
[[nodiscard]] std::string signal_name(int number);
/// MS since 1970 as RFC 3339 in UTC, to the second.
[[nodiscard]] std::string time_text(std::int64_t ms);
[[nodiscard]] std::chrono::milliseconds milliseconds_of(double seconds);

/// Notes that this session has read the output of ID from FROM up to NEXT, unless it had left off
/// before FROM.
void leave_off(Box& box, const std::string& id, std::uint64_t from, std::uint64_t next);

/// The processes of RECORD that live.
[[nodiscard]] std::vector<pid_t> live_tree(const JobRecord& record);

/// Both copies of a reply, built line by line.
class ProcessReply {
 public:
  /// In the structured copy.
  template <typename T>
  void data(const char* name, T value) {
    json_[name] = std::move(value);
  }
  /// In the text.
  void say(std::string_view name, std::string_view value);
  /// In both.
  void line(const char* name, const std::string& value);
  void line(const char* name, bool value);
  void line(const char* name, int value) { line(name, static_cast<std::int64_t>(value)); }
  void line(const char* name, std::int64_t value);
  void line(const char* name, std::uint64_t value);
  /// With CONTENT below "--- HEADLINE ---", unless that is empty.
  [[nodiscard]] ToolResult finish(std::string_view headline = {}, std::string_view content = {});

 private:
  OrderedJson json_ = OrderedJson::object();
  std::string text_;
};

}  // namespace agentbox::mcp
