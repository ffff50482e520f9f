// edge: runs one command to its reply, and looks after what it leaves running.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agentbox/call.h"
#include "agentbox/capture.h"
#include "agentbox/outcome.h"

namespace agentbox::mcp {

/// After the command's own process ended: how long output is still read that others hold open.
inline constexpr std::chrono::milliseconds kDrainTime{200};

struct CommandRequest {
  std::vector<std::string> programs = {};  ///< see CommandPlan
  std::vector<std::string> argv = {};
  std::vector<std::string> environment = {};
  int folder = -1;                        ///< borrowed
  std::optional<std::string> input = {};  ///< none: /dev/null
  bool merge_errors = false;              ///< stderr goes into stdout, in order
  bool terminal = false;                  ///< a terminal of its own instead of pipes
  std::chrono::milliseconds timeout{120'000};
  std::chrono::milliseconds yield{0};  ///< answered after this long, ended or not; 0: when it ended
  std::size_t inline_bytes = 30'000;   ///< kept of each stream
  std::string shown = {};              ///< the command line for people, cut
  std::string shown_folder = {};
};

/// The size of the terminal a command of shell_exec gets.
inline constexpr std::uint32_t kTerminalColumns = 80;
inline constexpr std::uint32_t kTerminalRows = 24;

enum class CommandStatus { kExited, kRunning, kTimedOut, kKilled, kCancelled };

struct CommandResult {
  CommandStatus status = CommandStatus::kExited;
  int exit_code = -1;  ///< -1: none
  int signal = 0;      ///< that ended the command's own process; 0: none
  std::chrono::milliseconds duration{0};
  HeadTail output{0};
  HeadTail errors{0};
  std::string process_id;  ///< what the process tools know it by; empty: they do not
  std::string
      output_path;  ///< the whole of both streams; empty: no file was needed, or could be made
  std::uint64_t output_dropped = 0;
  std::int64_t cpu_us = 0;
  std::int64_t max_rss_bytes = 0;
  std::int64_t background_left = 0;  ///< processes that still run; they end with the session
  std::int64_t stuck = 0;            ///< processes that could not be killed
};

/// Runs REQUEST and answers when its own process has ended, after the time to yield, at the
/// timeout, or on cancelling; in the last two cases nothing of it is left. What still runs when it
/// is answered is the session's, and keeps to its timeout. Errors: SPAWN_FAILED,
/// TOO_MANY_PROCESSES.
[[nodiscard]] Outcome<CommandResult> run_command(Box& box, CallContext& context,
                                                 const CommandRequest& request);

}  // namespace agentbox::mcp
