// edge: what the tools of one session share: its files, its commands, its settings.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "agentbox/job_client.h"
#include "agentbox/keeper.h"
#include "agentbox/session_commands.h"
#include "agentbox/settings.h"
#include "agentbox/workspace.h"
#include "base/result.h"

namespace agentbox::mcp {

/// One per process, made before there are threads. Its end ends whatever commands left behind.
struct Box {
  Settings settings;
  std::unique_ptr<Workspace> workspace;
  std::vector<std::string> environment;  ///< NAME=value: what every command starts with
  std::string keep_folder;      ///< where old content waits while a file is written in place
  std::uint64_t own_start = 0;  ///< when this process began, in ticks since boot
  Keepers keepers = {};
  std::unique_ptr<SessionCommands> commands = {};  // after keepers: ends first
  std::unique_ptr<JobClient> jobs = {};
  std::mutex cursors_mutex = {};
  /// Where this session left off reading the output of a process, by id.
  std::map<std::string, std::uint64_t> cursors = {};
};

/// Opens the folders SETTINGS names. JOBS leads to the host of jobs; not valid: there are none. The
/// process should be a subreaper by now; it becomes
/// undumpable, so that no command of the same uid can look into it.
[[nodiscard]] Result<std::unique_ptr<Box>> open_box(const Settings& settings, UniqueFd jobs = {});

}  // namespace agentbox::mcp
