// edge: one command from its words to its exit code.
#pragma once

#include <string>
#include <vector>

namespace agentbox::provision {

/// ARGUMENTS are argv without the program's name. The result is on standard output, what happens on
/// the way on standard error.
[[nodiscard]] int run(const std::vector<std::string>& arguments);

}  // namespace agentbox::provision
