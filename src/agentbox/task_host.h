// edge: the program that a task runs in.
#pragma once

namespace agentbox::mcp {

/// `agent-box task-host`: takes one call over its socket, keeps it, runs it, keeps its result.
/// Returns the exit code: 0, or 1 with a line on stderr.
[[nodiscard]] int run_task_host();

}  // namespace agentbox::mcp
