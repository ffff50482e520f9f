// edge: the host of one code context: a process of the box, which outlives sessions. It owns the
// interpreter and runs one execution at a time for whoever asks over its socket.
#pragma once

namespace agentbox::mcp {

/// The word that makes agent-box such a host.
inline constexpr const char* kContextHostWord = "context-host";

/// Serves until it has been unused for too long. Returns the exit code.
[[nodiscard]] int run_context_host();

}  // namespace agentbox::mcp
