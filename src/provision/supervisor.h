// edge: the supervisor of a local box seen from the commands: finding, starting and stopping it.
#pragma once

#include <chrono>
#include <optional>

#include "base/process.h"
#include "provision/answer.h"
#include "provision/paths.h"
#include "provision/supervisor_note.h"

namespace agentbox::provision {

/// What the door gives running calls on SIGTERM (20 s), the box side's own end, and room.
inline constexpr std::chrono::seconds kStopTime{40};

/// Where a supervisor finds its lock. It is handed over locked, so that no moment of a start has a
/// supervisor that nobody can find.
inline constexpr int kSupervisorLockFd = 3;

/// A live supervisor. NOTE is empty between its start and its first note.
struct RunningSupervisor {
  UniqueFd pidfd;
  std::optional<SupervisorNote> note;
};

/// The supervisor that holds the box's lock, or nothing where none does.
[[nodiscard]] Result<std::optional<RunningSupervisor>> find_supervisor(const BoxPaths& paths);

/// Starts one, detached: in its own session, with nothing of ours but the log and its lock.
/// Code::kExists where another one holds the lock.
[[nodiscard]] Result<Child> start_supervisor(const std::string& state_root, const BoxName& name,
                                             const BoxPaths& paths);

/// Asks it to stop and waits; kills it where it does not. Success where there was none.
[[nodiscard]] Status stop_supervisor(const BoxPaths& paths);

}  // namespace agentbox::provision
