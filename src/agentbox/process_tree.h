// edge: finds, signals and ends whole process trees; the listing allocates nothing and takes no
// lock, so a process forked from a threaded one may use it.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <string_view>

namespace agentbox::mcp {

// Processes seen by one sweep. A larger tree is handled by the sweeps that follow: what a sweep
// killed makes room for what it did not see.
inline constexpr std::size_t kMaxSweepPids = 4096;

struct PidList {
  std::array<pid_t, kMaxSweepPids> pids;
  std::size_t count = 0;

  [[nodiscard]] bool push(pid_t pid) {
    if (count == pids.size()) {
      return false;
    }
    pids[count++] = pid;
    return true;
  }
  [[nodiscard]] std::span<const pid_t> view() const { return {pids.data(), count}; }
};

// Appends the children of every thread of PID, zombies included.
void append_children(pid_t pid, PidList& list);

// Lists every descendant of PID.
void find_tree(pid_t pid, PidList& list);

// Descendants of PID that are not zombies.
[[nodiscard]] std::size_t count_live_descendants(pid_t pid, PidList& scratch);

// Sends SIGNAL to every descendant of PID; those that may not be signalled are passed over.
void signal_descendants(pid_t pid, int signal, PidList& scratch);

// What a freezing sweep remembers; 32 KiB, so that its owner decides where it lies.
struct SweepRoom {
  PidList now;
  PidList before;
};

// Stops every descendant of PID, looks again until no unknown one appears (a few rounds at most),
// then kills them all. The caller reaps, and calls again while it still has children.
void freeze_and_kill_descendants(pid_t pid, SweepRoom& room);

// Writes SCORE (-1000 to 1000 in decimal) to the process's out-of-memory score, if the kernel lets
// us.
void set_oom_score(pid_t pid, std::string_view score);

// Waits for the child PID and reaps it: true, with its wait status in STATUS where that is not
// null, once it is gone (or was no child of ours); false where DEADLINE passes first.
[[nodiscard]] bool reap_child(pid_t pid, std::chrono::steady_clock::time_point deadline,
                              int* status = nullptr);

// Kills and reaps every child of this process that is not in KEEP, with its tree, again and again
// until none is left (true) or DEADLINE passes (false).
bool kill_other_children(std::span<const pid_t> keep,
                         std::chrono::steady_clock::time_point deadline);

}  // namespace agentbox::mcp
