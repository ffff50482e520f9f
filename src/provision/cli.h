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

/// ARGUMENTS are argv without the program's name. VERSION is what --version says.
[[nodiscard]] std::variant<Invocation, Shown, Misused> parse_command_line(
    const std::vector<std::string>& arguments, const std::string& version);

}  // namespace agentbox::provision
