// edge: runs a program that prints a credential, and keeps what it says.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace agentbox::provision::kube {

struct PluginRun {
  std::string program;  ///< absolute path
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>> variables;  ///< over our own environment
  bool interactive = false;  ///< it gets our standard input and may ask something there
  std::chrono::seconds time{60};
};

/// What it printed, at most MAX_BYTES. Its standard error goes on to ours. An error (a failure, a
/// timeout: then all that it started is killed) names it, with the end of what it said there.
[[nodiscard]] Result<std::string> run_plugin(const PluginRun& run, std::size_t max_bytes);

}  // namespace agentbox::provision::kube
