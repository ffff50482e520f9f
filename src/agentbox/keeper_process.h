// edge: what runs inside a keeper process, between fork and the end of its command's tree.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace agentbox::mcp {

/// A CommandPlan with everything that needs memory made beforehand.
struct KeeperJob {
  const char* const* programs = nullptr;  // null-terminated
  char* const* argv = nullptr;
  char* const* environment = nullptr;
  int folder = -1;
  int input = -1;
  int output = -1;
  int errors = -1;
  int control = -1;
};

/// What the owner may ask over the control socket.
enum class KeeperRequestKind : std::uint8_t { kStop, kCount };
struct KeeperRequest {
  KeeperRequestKind kind = KeeperRequestKind::kStop;
  std::int32_t grace_ms = 0;
};

/// The keeper's whole life; called in the child right after fork, with every signal blocked.
/// Async-signal-safe: the process it was forked from has other threads.
[[noreturn]] void run_keeper(const KeeperJob& job);

}  // namespace agentbox::mcp
