// pure: see context_state.h.
#include "agentbox/context_state.h"

#include <algorithm>
#include <utility>

namespace agentbox::mcp {

using Step = ContextState::Step;
using std::chrono::milliseconds;

Step ContextState::want(std::optional<milliseconds> timeout, TimePoint now) {
  used_ = now;
  wanted_ = timeout.has_value();
  timeout_ = timeout.value_or(milliseconds(0));
  cause_ = InterruptCause::kNone;
  kill_at_.reset();
  killed_ = lost_ = never_came_ = false;
  switch (phase_) {
    case Phase::kNone:
      return start(now);
    case Phase::kIdle:
      return wanted_ ? send(now) : Step::kNothing;
    case Phase::kEnding:
      waits_ = true;
      return Step::kNothing;
    default:
      return Step::kNothing;  // it is about to come
  }
}

Step ContextState::start(TimePoint now) {
  phase_ = Phase::kStarting;
  start_by_ = now + kInterpreterStartTime;
  return Step::kStart;
}

Step ContextState::send(TimePoint now) {
  phase_ = Phase::kSent;
  timeout_at_ = now + timeout_;
  return Step::kSend;
}

Step ContextState::kill() {
  phase_ = Phase::kEnding;
  killed_ = true;
  kill_at_.reset();
  return Step::kKill;
}

Step ContextState::greeted(TimePoint now) {
  if (phase_ != Phase::kStarting) {
    return Step::kNothing;
  }
  phase_ = Phase::kIdle;
  used_ = now;
  return wanted_ ? send(now) : Step::kNothing;
}

Step ContextState::begun(TimePoint now) {
  if (phase_ != Phase::kSent) {
    return Step::kNothing;
  }
  phase_ = Phase::kRunning;
  if (cause_ == InterruptCause::kNone) {
    return Step::kNothing;
  }
  phase_ = Phase::kInterrupting;
  kill_at_ = now + kInterruptGrace;
  return Step::kInterrupt;
}

Step ContextState::done(TimePoint now) {
  if (phase_ != Phase::kSent && phase_ != Phase::kRunning && phase_ != Phase::kInterrupting) {
    return Step::kNothing;
  }
  phase_ = Phase::kIdle;
  used_ = now;
  wanted_ = false;
  kill_at_.reset();
  return Step::kFinish;
}

Step ContextState::interrupt(InterruptCause cause, TimePoint now) {
  if (!wanted_ || cause_ != InterruptCause::kNone) {
    return Step::kNothing;
  }
  cause_ = cause;
  kill_at_ = now + kInterruptGrace;
  if (phase_ != Phase::kRunning) {
    return Step::kNothing;  // as soon as it has begun
  }
  phase_ = Phase::kInterrupting;
  return Step::kInterrupt;
}

Step ContextState::leader_ended() {
  if (phase_ == Phase::kNone || phase_ == Phase::kEnding) {
    return Step::kNothing;
  }
  phase_ = Phase::kEnding;
  kill_at_.reset();
  return Step::kKill;  // what it has left running
}

Step ContextState::all_ended(TimePoint now) {
  phase_ = Phase::kNone;
  lost_ = true;
  used_ = now;
  kill_at_.reset();
  if (std::exchange(waits_, false)) {
    return start(now);
  }
  return std::exchange(wanted_, false) ? Step::kFinish : Step::kNothing;
}

Step ContextState::tick(TimePoint now) {
  switch (phase_) {
    case Phase::kNone:
    case Phase::kIdle:
      return now >= used_ + idle_ ? Step::kLeave : Step::kNothing;
    case Phase::kEnding:
      return Step::kNothing;
    case Phase::kStarting:
      never_came_ = never_came_ || now >= start_by_;
      return never_came_ || (kill_at_ && now >= *kill_at_) ? kill() : Step::kNothing;
    default:
      if (kill_at_ && now >= *kill_at_) {
        return kill();
      }
      return now >= timeout_at_ ? interrupt(InterruptCause::kTimeout, now) : Step::kNothing;
  }
}

ContextState::TimePoint ContextState::deadline() const {
  switch (phase_) {
    case Phase::kStarting:
      return kill_at_ ? std::min(*kill_at_, start_by_) : start_by_;
    case Phase::kSent:
    case Phase::kRunning:
    case Phase::kInterrupting:
      return kill_at_.value_or(timeout_at_);
    case Phase::kNone:
    case Phase::kIdle:
      return used_ + idle_;
    case Phase::kEnding:
      break;
  }
  return TimePoint::max();
}

}  // namespace agentbox::mcp
