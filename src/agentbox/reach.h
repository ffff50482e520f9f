// edge: `agent-box reach`: which addresses answer from inside the box. For whoever wants to know
// whether the network's policy holds; it can do nothing that any program in the box cannot.
#pragma once

#include <span>

namespace agentbox::mcp {

/// ARGUMENTS are numeric addresses and ports by turns. Prints a line for each: `open`, `refused`,
/// `silent` or `unreachable`, then the address and the port. Without arguments it prints what
/// /etc/resolv.conf says: `nameserver ADDRESS`. The program's exit code.
[[nodiscard]] int run_reach(std::span<char*> arguments);

}  // namespace agentbox::mcp
