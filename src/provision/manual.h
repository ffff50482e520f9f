// pure: the manual page, made from the table that parses the command line.
#pragma once

#include <string>

#include "provision/cli.h"

namespace agentbox::provision {

/// agentbox-provision(1) as troff with the man macros.
[[nodiscard]] std::string render_manual(const ProgramShape& shape);

}  // namespace agentbox::provision
