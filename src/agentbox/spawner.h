// edge: the box side's first process: dials the door, starts one server per session, ends all.
#pragma once

#include <chrono>
#include <span>

#include "agentbox/spawner_options.h"

namespace agentbox::mcp {

/// How long the door's socket may be missing at the start; a pod's containers start in any order.
inline constexpr std::chrono::seconds kDialTime{60};
/// Between two attempts to reach it.
inline constexpr std::chrono::milliseconds kDialInterval{100};
/// After SIGTERM: the sessions' own 20 s for running calls, and a little to say so.
inline constexpr std::chrono::seconds kSpawnerStopTime{25};

/// `agent-box spawner`: ARGUMENTS are those after that word. Returns the exit code when the link
/// has ended (0), after SIGTERM (0), or when it could not start (64 usage, 69 no door, 71 system).
[[nodiscard]] int run_spawner(std::span<char*> arguments);

}  // namespace agentbox::mcp
