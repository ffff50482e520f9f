// edge: a keeper is one command's guardian process: parent of the command, subreaper of all it
// starts, and their end when it is told so or when we are gone.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/handle.h"
#include "base/result.h"

namespace agentbox::mcp {

/// Between SIGTERM and SIGKILL when a command is stopped: enough for a build to remove its lock.
inline constexpr std::chrono::milliseconds kStopGrace{2000};
/// The same when the keeper's owner died or dropped it: nobody is left to wait.
inline constexpr std::chrono::milliseconds kOrphanGrace{500};
/// How long beyond the grace a keeper may take to kill and reap; a longer one is stopped or stuck
/// and is killed itself.
inline constexpr std::chrono::milliseconds kKeeperSlack{3000};
/// Keepers a session may have at once: running commands and those that left something behind.
inline constexpr std::size_t kMaxKeepers = 64;

/// A command before it exists. Descriptors are borrowed for the time of start(); nothing else of
/// ours reaches the command.
struct CommandPlan {
  std::vector<std::string> programs = {};  ///< tried in order until one can be executed
  std::vector<std::string> argv = {};
  std::vector<std::string> environment = {};  ///< NAME=value, the whole of it
  int folder = -1;
  int input = -1;
  int output = -1;
  int errors = -1;
  bool terminal = false;  ///< input is a terminal, and becomes the command's own
};

enum class KeeperEvent : std::uint8_t {
  kStarted,      ///< the command runs; value is its process id
  kFailed,       ///< it could not be started; value is the errno
  kLeaderEnded,  ///< value is its wait status; live, cpu_us and max_rss_bytes are set
  kCounted,      ///< the answer to count(): live is set
  kAllEnded,     ///< no process of the command is left; the keeper ends too
};

struct KeeperReport {
  KeeperEvent event = KeeperEvent::kStarted;
  std::int32_t value = 0;
  std::int64_t live = 0;           ///< processes still running, zombies not counted
  std::int64_t cpu_us = 0;         ///< user and system time of all processes reaped so far
  std::int64_t max_rss_bytes = 0;  ///< peak of the leader
};

class Keepers;

/// One running keeper. Destroying it ends the keeper and every process it guards.
class Keeper {
 public:
  Keeper(Keeper&& other) noexcept;
  Keeper& operator=(Keeper&& other) = delete;
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;
  ~Keeper();

  /// Readable when a report waits, or when the keeper is gone. Borrowed.
  [[nodiscard]] int fd() const { return control_.get(); }
  [[nodiscard]] pid_t pid() const { return pid_; }

  /// The next report; blocks until there is one. Nothing: the keeper is gone.
  [[nodiscard]] std::optional<KeeperReport> receive();

  /// SIGTERM to the whole tree, then after GRACE SIGKILL until nothing of it is left. Returns at
  /// once; kAllEnded tells.
  void stop(std::chrono::milliseconds grace);

  /// Sends a signal to the whole tree, or to the command's own process.
  void signal(int number, bool tree);

  /// Asks for a kCounted report.
  void count();

  /// Ends the keeper and its tree (within GRACE and kKeeperSlack) and reaps it.
  void end(std::chrono::milliseconds grace);

 private:
  friend class Keepers;
  Keeper(Keepers& owner, pid_t pid, UniqueFd control);

  Keepers* owner_;
  pid_t pid_;
  UniqueFd control_;
};

/// All keepers of this process. The process must be a subreaper: when a keeper is killed from
/// outside its processes come to us, and are strays to be ended.
class Keepers {
 public:
  Keepers() = default;
  Keepers(const Keepers&) = delete;
  Keepers& operator=(const Keepers&) = delete;
  ~Keepers() = default;

  /// Starts PLAN under a new keeper. Whether the program could be executed comes as a report.
  /// Code::kLimit where kMaxKeepers exist.
  [[nodiscard]] Result<Keeper> start(const CommandPlan& plan);

  /// PID is a child that is no keeper and no stray; called before there are threads.
  void spare(pid_t pid) { spared_ = pid; }

  /// Kills every other child of this process, with its tree. False where some were
  /// still there after a second.
  bool kill_strays();

  [[nodiscard]] std::size_t count() const;

 private:
  friend class Keeper;
  void forget(pid_t pid);

  mutable std::mutex mutex_;  // also held over fork, so that no keeper is taken for a stray
  std::vector<pid_t> pids_;
  pid_t spared_ = -1;
};

}  // namespace agentbox::mcp
