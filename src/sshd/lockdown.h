// edge: what a network child gives up before it reads a client's first byte.
#pragma once

#include <chrono>

#include "base/result.h"
#include "base/version.h"

namespace agentbox::sshd {

/// A network child's address space; an honest one uses about 60 MiB of it.
inline constexpr unsigned long long kMaxChildMemoryBytes = 512ULL << 20U;

/// No core dumps, not dumpable: no other process of the same user can read or trace this one.
[[nodiscard]] Status forbid_inspection();

/// As many descriptors as this process may ever have: the monitor holds one for each connection and
/// each session, and the usual first limit is 1024.
[[nodiscard]] Status allow_descriptors();

/// Resource limits and the system call filter of a network child: it keeps reading, writing and
/// polling what it has, and can no longer open, connect, execute, fork or map code. What is not
/// allowed kills the process; open and ioctl fail with EPERM, because libraries try them
/// harmlessly. Sanitizer builds answer every refusal with EPERM and set no memory limit: their run
/// time needs more, and --check says so.
[[nodiscard]] Status lock_network_child();

/// Ends this process unless it is called again before LIMIT of processor time is used up: the only
/// guard against a library call that never returns.
void arm_watchdog(std::chrono::seconds limit);

/// The library that makes the filter.
[[nodiscard]] LibraryVersion call_filter_library();

}  // namespace agentbox::sshd
