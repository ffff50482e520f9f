// edge: what runs inside a keeper process, between fork and the end of its command's tree.
#pragma once

#include <cstdint>

#include "agentbox/tree_guard.h"

namespace agentbox::mcp {

/// One command, and the socket to its owner.
struct KeeperJob {
  CommandParts command;
  int control = -1;
};

/// What the owner may ask over the control socket.
enum class KeeperRequestKind : std::uint8_t { kStop, kCount, kSignal };
struct KeeperRequest {
  KeeperRequestKind kind = KeeperRequestKind::kStop;
  std::int32_t value = 0;  ///< kStop: the grace in milliseconds; kSignal: the signal
  bool tree = false;       ///< kSignal: to all of it
};

/// The keeper's whole life; called in the child right after fork, with every signal blocked.
/// Async-signal-safe: the process it was forked from has other threads.
[[noreturn]] void run_keeper(const KeeperJob& job);

}  // namespace agentbox::mcp
