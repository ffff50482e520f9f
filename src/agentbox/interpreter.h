// edge: one running interpreter of a code context: its processes, its pipes, and the socket to the
// driver within. Nothing here waits for it, but for the end of what was killed.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agentbox/context_driver.h"
#include "agentbox/jsonrpc.h"
#include "agentbox/keeper.h"
#include "base/handle.h"
#include "base/result.h"

namespace agentbox::mcp {

/// What comes of an interpreter, in the order in which it came.
class InterpreterSink {
 public:
  virtual void on_output(std::string_view bytes, bool is_error) = 0;
  virtual void on_line(const DriverLine& line) = 0;
  /// Its own process has ended; WAIT_STATUS as waitpid gives it.
  virtual void on_leader_ended(int wait_status) = 0;
  /// Nothing of it is left, or it could not be started.
  virtual void on_all_ended() = 0;

 protected:
  ~InterpreterSink() = default;
};

class Interpreter {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// Starts PLAN in FOLDER (borrowed). What becomes of it is told to SINK by take().
  [[nodiscard]] static Result<Interpreter> start(Keepers& keepers, const InterpreterPlan& plan,
                                                 std::vector<std::string> environment, int folder);

  /// Appends what is to be polled; then take() gets the same entries back. READS_OUTPUT: whether
  /// there is room for what it prints.
  void poll_into(std::vector<pollfd>& ready, bool reads_output) const;
  static constexpr std::size_t kPolled = 4;
  void take(const pollfd* ready, InterpreterSink& sink);

  /// Takes what has been printed so far.
  void drain(InterpreterSink& sink);
  void send(std::string_view bytes);
  /// SIGINT to its process group, as a terminal does it.
  void interrupt() const;
  /// Ends its whole tree. on_all_ended() tells, by the deadline at the latest.
  void kill();
  [[nodiscard]] std::optional<TimePoint> deadline() const { return gone_by_; }
  /// After the deadline: waits, shortly, until its keeper is gone.
  void give_up();
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  Interpreter(Keeper keeper, UniqueFd control, UniqueFd output, UniqueFd errors);

  void read_control(InterpreterSink& sink);
  void read_output(UniqueFd& pipe, bool is_error, std::size_t most, InterpreterSink& sink);
  void write_control();
  void hear_keeper(InterpreterSink& sink);

  Keeper keeper_;
  UniqueFd control_;
  UniqueFd output_;
  UniqueFd errors_;
  LineSplitter lines_{kMaxDriverLineBytes};
  std::string unsent_;
  pid_t pid_ = -1;
  std::optional<TimePoint> gone_by_;
};

}  // namespace agentbox::mcp
