// pure: what the spawner is told at its start, and what it tells each session.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/record.h"
#include "base/result.h"

namespace agentbox::mcp {

/// Where a session finds its record socket, and the socket over which it asks for jobs.
inline constexpr int kRecordsFd = 3;
inline constexpr int kJobsFd = 4;

struct SpawnerOptions {
  std::string link;
  std::string workspace = "/workspace";
  std::string home = "/home/agent";
  std::string tmp = "/tmp";
  std::string out = "/run/agentbox-out";
};

/// `--link SOCKET [--workspace DIR --home DIR --tmp DIR --out DIR]`.
[[nodiscard]] Result<SpawnerOptions> parse_spawner_options(std::span<char* const> arguments);

/// The environment of the session that START asks for; variables that carry names of ours, or no
/// name at all, are an error.
[[nodiscard]] Result<std::vector<std::string>> session_environment(const SpawnerOptions& options,
                                                                   const record::Start& start);

}  // namespace agentbox::mcp
