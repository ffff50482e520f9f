// edge: what the tools of one session share: its files, its commands, its settings.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agentbox/keeper.h"
#include "agentbox/settings.h"
#include "agentbox/survivors.h"
#include "agentbox/workspace.h"
#include "base/result.h"

namespace agentbox::mcp {

/// One per process, made before there are threads. Its end ends whatever commands left behind.
struct Box {
  Settings settings;
  std::unique_ptr<Workspace> workspace;
  std::vector<std::string> environment;  ///< NAME=value: what every command starts with
  std::string keep_folder;  ///< where old content waits while a file is written in place
  Keepers keepers = {};
  std::unique_ptr<Survivors> survivors = {};  // after keepers: ends first
};

/// Opens the folders SETTINGS names. The process should be a subreaper by now; it becomes
/// undumpable, so that no command of the same uid can look into it.
[[nodiscard]] Result<std::unique_ptr<Box>> open_box(const Settings& settings);

}  // namespace agentbox::mcp
