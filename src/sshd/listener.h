// edge: the process that accepts connections and forks one child for each; it reads no byte of
// theirs.
#pragma once

#include "base/handle.h"
#include "base/result.h"
#include "sshd/config.h"

namespace agentbox::sshd {

/// The listener's exit codes, read by the monitor.
enum class ListenerExit : int {
  kDone = 0,          ///< the monitor is gone, or told it to end
  kFailed = 1,        ///< it could not start; its log says why
  kFreshLayout = 10,  ///< children crashed: an attacker may be learning this process's layout
};

/// How a network child ends, as its exit code; a signal means that it crashed or was killed.
enum class ChildExit : int { kDone = 0, kSetupFailed = 1, kMonitorGone = 2 };

/// Where the monitor puts the listener's descriptors.
inline constexpr int kControlFd = 3;
inline constexpr int kListenFd = 4;
inline constexpr int kConfigFd = 5;

/// Accepts on LISTENING until CONTROL, the socket to the monitor, ends.
[[nodiscard]] ListenerExit run_listener(const Config& config, UniqueFd control, UniqueFd listening);

}  // namespace agentbox::sshd
