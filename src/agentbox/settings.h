// pure: what agent-box reads from its environment, as one value.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/profile.h"
#include "base/result.h"
#include "base/role.h"

namespace agentbox::mcp {

using agentbox::Role;
using agentbox::role_name;

struct Settings {
  std::string workspace = "/workspace";
  std::string home;  // empty: a plain local run; commands then get the workspace as HOME
  std::string tmp;   // empty: /tmp
  std::string out;   // empty: no folder for spilled output
  std::string session;
  Role role = Role::kAgent;
  Profile profile = Profile::kStandard;
  std::uint64_t generation = 0;        // of the key file, as the door saw it at the session's start
  std::string isolation;               // of the door's processes, as its monitor read it
  std::optional<int> records_fd = {};  // absent: a plain local run without audit
  std::optional<int> jobs_fd = {};     // absent: jobs end with this process
  std::string job;                     // of a program of ours: its id among the box's jobs
  // Every other variable the process was started with, in order. Nothing named AGENTBOX_* or
  // MCP_WORKSPACE is in here, so these may go on to commands.
  std::vector<std::pair<std::string, std::string>> environment;
};

/// SETTINGS as read_settings() reads it, without its descriptors: for another program of ours.
[[nodiscard]] std::vector<std::string> settings_environment(const Settings& settings);

// `environment` as in environ: NAME=VALUE each. An unknown role or profile or an unreadable number
// is an error; it is never guessed.
[[nodiscard]] Result<Settings> read_settings(std::span<const std::string_view> environment);

}  // namespace agentbox::mcp
