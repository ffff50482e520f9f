// edge: one channel's life: reads lines, drives the session and the calls, writes replies, ends.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "agentbox/call_pool.h"
#include "agentbox/hello.h"
#include "agentbox/jsonrpc.h"
#include "agentbox/limits.h"
#include "agentbox/outbox.h"
#include "agentbox/resource_watcher.h"
#include "agentbox/session.h"
#include "base/handle.h"
#include "base/result.h"

namespace agentbox::mcp {

/// What a channel consists of. Descriptors are closed on exec.
struct Streams {
  UniqueFd in;
  UniqueFd out;      ///< may be the same socket as in
  UniqueFd records;  ///< SOCK_SEQPACKET, not blocking; none: nobody audits
  UniqueFd signals;  ///< a signalfd of SIGTERM, SIGINT and SIGHUP
};

/// How long an ending session waits for what; limits.h says why.
struct Patience {
  std::chrono::milliseconds end_of_input = kEndOfInputGrace;
  std::chrono::milliseconds terminate = kTerminateGrace;
  std::chrono::milliseconds unwind = kUnwindTime;
  std::chrono::milliseconds flush = kFlushStallTime;
};

inline constexpr int kExitOk = 0;
/// EX_DATAERR of sysexits.h: what came was no MCP.
inline constexpr int kExitNotMcp = 65;
/// EX_OSERR of sysexits.h.
inline constexpr int kExitSystem = 71;

class Server {
 public:
  /// TOOLS, METHODS, CALLS and WATCHER outlive the server. Without WATCHER no change of a resource
  /// is ever noticed.
  [[nodiscard]] static Result<Server> open(Streams streams, std::span<const Tool> tools,
                                           std::span<const Method> methods, Role role,
                                           CallPool& calls, const Patience& patience = {},
                                           ResourceWatcher* watcher = nullptr);

  /// Serves until the channel ends and returns the exit code. On return no call runs any more,
  /// unless one could not be cancelled in time: then calls_left() is true.
  [[nodiscard]] int run();
  [[nodiscard]] bool calls_left() const { return calls_.size() > 0; }

 private:
  static constexpr std::size_t kReadBytes = 64 * kKiB;
  struct Ready {
    bool in = false;
    bool out = false;
    bool broken = false;  // the reader of our replies is gone
    bool signals = false;
    bool answers = false;  // of the door, to records
  };

  Server(Streams streams, std::span<const Tool> tools, std::span<const Method> methods, Role role,
         CallPool& calls, const Patience& patience, ResourceWatcher* watcher, TimePoint now)
      : streams_(std::move(streams)),
        calls_(calls),
        watcher_(watcher),
        patience_(patience),
        session_(tools, methods, role),
        hello_(now) {}

  [[nodiscard]] Result<Ready> wait();
  [[nodiscard]] std::optional<TimePoint> next_deadline() const;
  [[nodiscard]] bool is_reading() const;
  [[nodiscard]] bool is_finished(TimePoint now) const;

  void read_signals(TimePoint now);
  void read_input(TimePoint now);
  void take_line(const Line& line, TimePoint now);
  void take_call_events(TimePoint now);
  void take_watch_events(TimePoint now);
  void begin_watch(StartWatch watch);
  [[nodiscard]] bool may_send_notices() const;
  void apply(Actions actions);
  void send_output(const Ready& ready, TimePoint now);
  void read_answers(TimePoint now);
  void lose_door(const std::string& why, TimePoint now);
  void pass_deadlines(TimePoint now);
  void check_hello(TimePoint now);

  void end_input(TimePoint now);
  void begin_ending(TimePoint grace_ends);
  void lose_link(TimePoint now);

  Streams streams_;
  CallPool& calls_;
  ResourceWatcher* watcher_;
  Patience patience_;
  Session session_;
  HelloGuard hello_;
  LineSplitter splitter_{kMaxLineInBytes};
  Outbox outbox_;
  std::unique_ptr<char[]> read_buffer_ = std::make_unique_for_overwrite<char[]>(kReadBytes);
  bool in_is_socket_ = false;
  bool out_is_socket_ = false;
  bool input_ended_ = false;
  bool ending_ = false;  // input ended or we were told to go: finish what runs
  bool lost_ = false;    // nobody reads our replies any more
  int exit_code_ = kExitOk;
  // While ending: when running calls are answered SHUTTING_DOWN.
  std::optional<TimePoint> grace_ends_;
  // After that: when calls that do not end are left behind.
  std::optional<TimePoint> unwind_ends_;
  // While ending with nothing but output left: when a client that takes nothing is given up.
  std::optional<TimePoint> flush_ends_;
};

}  // namespace agentbox::mcp
