// pure: what the host of a code context does next: its interpreter's life and the one execution
// that runs at a time, as values in and steps out.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace agentbox::mcp {

/// From a SIGINT to SIGKILL.
inline constexpr std::chrono::milliseconds kInterruptGrace{2000};
/// How long an interpreter may take to say that it is there.
inline constexpr std::chrono::seconds kInterpreterStartTime{30};

/// Why an execution was interrupted.
enum class InterruptCause { kNone, kTimeout, kCancelled, kAsked };

class ContextState {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// What the caller of a method has to do; at most one thing at a time.
  enum class Step {
    kNothing,
    kStart,      ///< start an interpreter
    kSend,       ///< send it the code that is wanted
    kInterrupt,  ///< SIGINT to the interpreter's process group
    kKill,       ///< SIGKILL to its whole tree
    kFinish,     ///< the execution is over: answer it
    kLeave,      ///< unused for too long: end
  };

  ContextState(std::chrono::seconds idle, TimePoint now) : idle_(idle), used_(now) {}

  /// An execution is wanted, only where none is: it may run for TIMEOUT. Or none, TIMEOUT being
  /// nothing: the interpreter shall be there.
  [[nodiscard]] Step want(std::optional<std::chrono::milliseconds> timeout, TimePoint now);
  /// The interpreter is there.
  [[nodiscard]] Step greeted(TimePoint now);
  /// The code begins; from here on an interrupt meets it, and nothing else.
  [[nodiscard]] Step begun(TimePoint now);
  [[nodiscard]] Step done(TimePoint now);
  /// Nothing where nothing runs, or where it is being interrupted already.
  [[nodiscard]] Step interrupt(InterruptCause cause, TimePoint now);
  /// The interpreter's own process has ended.
  [[nodiscard]] Step leader_ended();
  /// Nothing of the interpreter is left, or it could not be started.
  [[nodiscard]] Step all_ended(TimePoint now);
  [[nodiscard]] Step tick(TimePoint now);

  /// When tick() has something to do.
  [[nodiscard]] TimePoint deadline() const;
  [[nodiscard]] bool is_busy() const { return wanted_; }
  [[nodiscard]] bool is_there() const { return phase_ != Phase::kNone; }
  [[nodiscard]] bool is_starting() const { return phase_ == Phase::kStarting; }
  /// Of the execution, until the next is wanted.
  [[nodiscard]] InterruptCause cause() const { return cause_; }
  [[nodiscard]] bool was_killed() const { return killed_; }
  /// Its interpreter has gone, and with it what was defined in it.
  [[nodiscard]] bool lost_state() const { return lost_; }
  /// The interpreter did not start in its time.
  [[nodiscard]] bool never_came() const { return never_came_; }

 private:
  enum class Phase {
    kNone,
    kStarting,
    kIdle,
    kSent,          // the code was sent, and has not begun
    kRunning,       // it has
    kInterrupting,  // and was interrupted
    kEnding,        // the interpreter was killed or has ended; not all of its processes have
  };

  Step start(TimePoint now);
  Step send(TimePoint now);
  Step kill();

  std::chrono::seconds idle_;
  TimePoint used_;
  Phase phase_ = Phase::kNone;
  bool wanted_ = false;
  bool waits_ = false;  // wanted of the next interpreter, this one being about to end
  std::chrono::milliseconds timeout_{0};
  TimePoint start_by_{};
  TimePoint timeout_at_{};
  std::optional<TimePoint> kill_at_;
  InterruptCause cause_ = InterruptCause::kNone;
  bool killed_ = false;
  bool lost_ = false;
  bool never_came_ = false;
};

}  // namespace agentbox::mcp
