// pure: see program_plan.h.
#include "agentbox/program_plan.h"

#include <algorithm>

#include "agentbox/environment.h"

namespace agentbox::mcp {
namespace {

constexpr std::string_view kTerminalType = "TERM=xterm";
constexpr std::int64_t kDefaultInlineBytes = 30'000;
constexpr std::int64_t kMaxInlineBytes = 262'144;
constexpr double kDefaultTimeout = 120;
constexpr double kMinTimeout = 0.1;
constexpr double kMaxTimeout = 3600;
// Below what clients wait for an answer.
constexpr double kDefaultYield = 50;

ToolError invalid(std::string message, std::string hint) {
  return {.code = "INVALID_ARGUMENT", .message = std::move(message), .hint = std::move(hint)};
}

// Where a program named without a slash may lie.
std::vector<std::string> places_of(const std::string& program,
                                   const std::vector<std::string>& environment) {
  if (program.find('/') != std::string::npos) {
    return {program};
  }
  std::vector<std::string> places;
  const std::string path = find_variable(environment, "PATH");
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    const std::string folder = path.substr(at, end - at);
    places.push_back((folder.empty() ? "." : folder) + "/" + program);
    at = end + 1;
  }
  return places;
}

}  // namespace

Outcome<ProgramPlan> plan_program(const Arguments& arguments,
                                  const std::vector<std::string>& environment, bool login) {
  ProgramPlan plan;
  const std::string& command = arguments.text("command");
  if (arguments.has("args")) {
    plan.argv.push_back(command);
    plan.argv.insert(plan.argv.end(), arguments.list("args").begin(), arguments.list("args").end());
    plan.programs = places_of(command, environment);
  } else {
    const std::string& shell = arguments.text("shell");
    plan.programs = {"/bin/" + shell, "/usr/bin/" + shell};
    plan.argv = {shell};
    if (login) {
      plan.argv.emplace_back("-l");
    }
    plan.argv.insert(plan.argv.end(), {"-c", "--", command});
  }
  for (const std::string& word : plan.argv) {
    if (word.find('\0') != std::string::npos) {
      return invalid("the command holds a NUL byte", "Use printf '\\0' inside the command instead");
    }
    if (word.size() > kMaxCommandBytes) {
      return invalid("an argument has more than 131000 bytes, which no program can be given",
                     "Write a script with write_file and run that");
    }
  }
  return plan;
}

std::string show_program(const Arguments& arguments) {
  std::string shown = arguments.text("command");
  for (const std::string& word : arguments.list("args")) {
    shown += " " + word;
  }
  return shown;
}

void prepare_for_terminal(std::vector<std::string>& environment, const Arguments::Map& chosen) {
  const bool is_chosen = std::any_of(chosen.begin(), chosen.end(),
                                     [](const auto& entry) { return entry.first == "TERM"; });
  for (std::string& entry : environment) {
    if (!is_chosen && entry.starts_with("TERM=")) {
      entry = kTerminalType;
    }
  }
}

Argument command_argument() {
  return {.name = "command",
          .description = "Shell command line; with args: the program to run.",
          .required = true,
          .min_length = 1,
          .max_length = kMaxCommandBytes};
}

Argument words_argument() {
  return {.name = "args",
          .type = ArgumentType::kStringList,
          .description = "Run command with exactly these arguments and no shell.",
          .max_items = kMaxCommandWords};
}

Argument folder_argument() {
  return {.name = "cwd",
          .description = "Working directory. Default: workspace root.",
          .min_length = 1,
          .max_length = 4096};
}

Argument environment_argument() {
  return {.name = "env",
          .type = ArgumentType::kStringMap,
          .description = "Extra environment variables."};
}

Argument shell_argument() {
  return {.name = "shell",
          .description = "Shell to use with command.",
          .fallback = std::string_view("sh"),
          .choices = {"sh", "bash"}};
}

Argument reason_argument() {
  return {.name = "description",
          .description = "One line on why, for whoever reads along.",
          .max_length = 500};
}

Argument timeout_argument(const char* description) {
  return {.name = "timeout_seconds",
          .type = ArgumentType::kNumber,
          .description = description,
          .fallback = kDefaultTimeout,
          .minimum = kMinTimeout,
          .maximum = kMaxTimeout};
}

Argument yield_argument() {
  return {.name = "yield_seconds",
          .type = ArgumentType::kNumber,
          .description = "Return after this long even if still running; 0 waits for the end.",
          .fallback = kDefaultYield,
          .minimum = 0,
          .maximum = kMaxTimeout};
}

Argument inline_bytes_argument() {
  return {.name = "max_output_bytes",
          .type = ArgumentType::kInteger,
          .description = "Inline bytes per stream.",
          .fallback = kDefaultInlineBytes,
          .minimum = 0,
          .maximum = kMaxInlineBytes};
}

}  // namespace agentbox::mcp
