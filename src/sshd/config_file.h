// edge: reads a configuration file.
#pragma once

#include <string>

#include "base/result.h"
#include "sshd/config.h"

namespace agentbox::sshd {

/// A configuration and the text it was read from.
struct LoadedConfig {
  std::string text;
  Config config;
};

[[nodiscard]] Result<LoadedConfig> load_config(const std::string& path);

}  // namespace agentbox::sshd
