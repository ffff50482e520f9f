// pure: completions for shells, made from the table that parses the command line.
#pragma once

#include <string>

#include "provision/cli.h"
#include "provision/command.h"

namespace agentbox::provision {

/// A script for SHELL. Commands, options and choices are in it; names of boxes are asked of
/// `list` when they are wanted.
[[nodiscard]] std::string render_completion(const ProgramShape& shape, Shell shell);

}  // namespace agentbox::provision
