// pure: argv to a Command, or to what the command line itself already answers (help, usage errors).
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "provision/answer.h"
#include "provision/command.h"

namespace agentbox::provision {

/// --help and --version: TEXT goes to standard output, and that was it.
struct Shown {
  std::string text;
};
/// A wrong command line. JSON: --output json was among the words, so the error is due in JSON.
struct Misused {
  Failure failure;
  Output output = Output::kText;
};

/// What the command line can be told, as completions and the manual page are made from: the very
/// table that parses it.
struct OptionShape {
  std::vector<std::string> names;    ///< with their hyphens; of a positional its own name
  std::string value;                 ///< what it takes (FILE, DIR, TEXT, ...); empty: a flag
  std::vector<std::string> choices;  ///< where it takes one of these
  std::string about;
  std::string fallback;
  bool required = false;
};
struct CommandShape {
  std::string name;
  std::string about;
  std::vector<OptionShape> positionals;
  std::vector<OptionShape> options;
};
struct ProgramShape {
  std::string name;
  std::string version;
  std::string about;
  std::string footer;
  std::vector<OptionShape> options;
  std::vector<CommandShape> commands;
};
[[nodiscard]] ProgramShape command_line_shape(const std::string& version);

/// ARGUMENTS are argv without the program's name. ABOUT_VERSION is what --version prints.
[[nodiscard]] std::variant<Invocation, Shown, Misused> parse_command_line(
    const std::vector<std::string>& arguments, const std::string& about_version);

}  // namespace agentbox::provision
