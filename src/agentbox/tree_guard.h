// edge: starts one command and guards its whole tree, from within the process that is its parent
// and subreaper. Async-signal-safe: that process may have been forked from one with threads.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "agentbox/process_tree.h"

namespace agentbox::mcp {

/// Where a program of ours finds the descriptor it is given beside the usual three.
inline constexpr int kExtraFd = 3;

/// A command with everything that needs memory made beforehand. Descriptors are borrowed.
struct CommandParts {
  const char* const* programs = nullptr;  ///< tried in order; null-terminated
  char* const* argv = nullptr;
  char* const* environment = nullptr;
  int folder = -1;
  int input = -1;
  int output = -1;
  int errors = -1;
  int extra = -1;         ///< becomes kExtraFd; -1: nothing does
  bool terminal = false;  ///< input is a terminal, and becomes the command's own
};

/// What has happened since the last look.
struct TreeNews {
  bool started = false;       ///< the program runs
  int failed = 0;             ///< or could not be executed: the errno
  bool leader_ended = false;  ///< the four below are set
  int leader_status = 0;      ///< as waitpid gives it
  std::int64_t live = 0;
  std::int64_t cpu_us = 0;
  std::int64_t max_rss_bytes = 0;
  bool all_ended = false;  ///< no process is left
};

/// The calling process must be a subreaper with SIGCHLD blocked, and have no other children.
class TreeGuard {
 public:
  TreeGuard() : self_(::getpid()) {}

  /// Forks the command. An errno, or 0: then look() tells whether it could be executed.
  [[nodiscard]] int start(const CommandParts& parts);

  /// Moves the one descriptor that is open between start() and its news to the number FD.
  void move_exec_fd(int fd);
  /// Readable when there is news; each may be -1.
  [[nodiscard]] int exec_fd() const { return exec_result_; }
  /// A signalfd of SIGCHLD, made on first use.
  [[nodiscard]] int children_fd();

  /// Reaps, and reads whether the program was executed.
  [[nodiscard]] TreeNews look();

  /// SIGTERM to the whole tree, then after GRACE SIGKILL until nothing is left. A second call may
  /// only shorten the grace. Returns how many processes were signalled.
  std::size_t stop(std::chrono::milliseconds grace);
  [[nodiscard]] bool stopping() const { return stopping_; }
  /// Must be called in every turn: kills what is due, and says when to come again; -1: no need.
  [[nodiscard]] int next_wait_ms();

  /// Sends SIGNAL to the tree, or to the command's own process. Returns how many got it.
  std::size_t signal(int number, bool tree);
  [[nodiscard]] std::size_t count_live();
  /// The command's own process; -1 once it has ended.
  [[nodiscard]] pid_t leader() const { return leader_; }

 private:
  void read_exec_result(TreeNews& news);

  pid_t self_;
  pid_t leader_ = -1;
  int exec_result_ = -1;  // reads the errno of a failed execve; -1 once known
  int children_ = -1;
  bool stopping_ = false;
  bool killing_ = false;
  std::chrono::steady_clock::time_point kill_at_{};
  SweepRoom room_;
};

/// Closes every descriptor from FIRST on.
void close_from(unsigned first);

}  // namespace agentbox::mcp
