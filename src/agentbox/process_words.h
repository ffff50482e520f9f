// edge: what the replies of the process tools have in common.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agentbox/arguments.h"
#include "agentbox/box.h"
#include "agentbox/job_id.h"
#include "agentbox/job_record.h"

namespace agentbox::mcp {

/// Bytes of one process_input.
inline constexpr std::size_t kMaxProcessInputBytes = 1UL << 20;
/// Columns or rows; more than any screen has.
inline constexpr double kMaxTerminalSize = 1000;

/// The argument that names a process.
[[nodiscard]] Argument process_argument(std::string_view name);

/// "SIGKILL".
[[nodiscard]] std::string signal_name(int number);
/// When it was started: RFC 3339 in UTC, to the second.
[[nodiscard]] std::string started_text(const JobRecord& record);
/// TEXT on one line, whatever the box's own code may have put there.
[[nodiscard]] std::string one_line(std::string_view text);
/// TEXT with a newline at its end, unless it is empty.
[[nodiscard]] std::string whole_lines(std::string text);
[[nodiscard]] std::chrono::milliseconds milliseconds_of(double seconds);

/// Notes that this session has read the output of ID from FROM up to NEXT, unless it had left off
/// before FROM.
void leave_off(Box& box, const std::string& id, std::uint64_t from, std::uint64_t next);

/// The processes of RECORD that live.
[[nodiscard]] std::vector<pid_t> live_tree(const JobRecord& record);

}  // namespace agentbox::mcp
