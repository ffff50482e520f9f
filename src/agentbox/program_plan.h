// pure: the command line of a call as the words that are executed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "agentbox/arguments.h"
#include "agentbox/outcome.h"

namespace agentbox::mcp {

/// execve takes 131,072 bytes in one argument, the terminating NUL included.
inline constexpr std::size_t kMaxCommandBytes = 131'000;
inline constexpr std::size_t kMaxCommandWords = 4096;

struct ProgramPlan {
  std::vector<std::string> programs;  ///< tried in order until one can be executed
  std::vector<std::string> argv;
};

/// From the arguments command, args and shell. ENVIRONMENT: whose PATH finds a program.
[[nodiscard]] Outcome<ProgramPlan> plan_program(const Arguments& arguments,
                                                const std::vector<std::string>& environment,
                                                bool login);

/// The command line for people: command, and args where they are given.
[[nodiscard]] std::string show_program(const Arguments& arguments);

/// For a command on a terminal: a TERM that programs can draw on, unless the caller chose one.
void prepare_for_terminal(std::vector<std::string>& environment, const Arguments::Map& chosen);

/// The arguments that shell_exec and process_start share.
[[nodiscard]] Argument command_argument();
[[nodiscard]] Argument words_argument();
[[nodiscard]] Argument folder_argument();
[[nodiscard]] Argument environment_argument();
[[nodiscard]] Argument shell_argument();
[[nodiscard]] Argument reason_argument();

/// Those that shell_exec and code_execute share: how long what they run may take, how long the call
/// waits for it, and how much of its output is shown.
[[nodiscard]] Argument timeout_argument(const char* description);
[[nodiscard]] Argument yield_argument();
[[nodiscard]] Argument inline_bytes_argument();

}  // namespace agentbox::mcp
