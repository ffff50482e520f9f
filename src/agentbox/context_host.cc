// edge: see context_host.h.
#include "agentbox/context_host.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agentbox/context_recorder.h"
#include "agentbox/context_state.h"
#include "agentbox/context_wire.h"
#include "agentbox/environment.h"
#include "agentbox/hosted.h"
#include "agentbox/interpreter.h"
#include "agentbox/limits.h"
#include "base/deadline.h"

namespace agentbox::mcp {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using TimePoint = steady_clock::time_point;
using Step = ContextState::Step;

constexpr int kExitSystem = 71;
// Sessions that talk to one context at once.
constexpr std::size_t kMaxCallers = 32;
// Who started this host has this long to say what the context is.
constexpr seconds kOpenTime{10};
// A caller that takes no answer is let go after this: nobody else is kept waiting for it longer.
constexpr milliseconds kSendTime{500};
constexpr std::int64_t kMaxOutputBytes = 262'144;
constexpr std::int64_t kMaxTimeoutMs = 3'600'000;
constexpr std::int64_t kMaxIdleSeconds = 86'400;

struct Caller {
  HostedLine line;
  bool owns = false;         // it asked for the execution that runs
  bool waits = false;        // for the end of that
  bool asks_status = false;  // and is answered once the interpreter is there
  bool gone = false;
};

std::int64_t ms_between(TimePoint from, TimePoint to) {
  return std::chrono::duration_cast<milliseconds>(to - from).count();
}

class ContextHost final : private InterpreterSink {
 public:
  explicit ContextHost(Hosted hosted)
      : hosted_(std::move(hosted)), recorder_(hosted_.folder.get(), STDOUT_FILENO) {}
  void run();

 private:
  void turn();
  void step(Step step);
  void start_interpreter();
  void send_code();
  void finish();
  void interpreter_gone();

  void on_output(std::string_view bytes, bool is_error) override;
  void on_line(const DriverLine& line) override;
  void on_leader_ended(int wait_status) override;
  void on_all_ended() override { gone_ = true; }

  void accept();
  void read(Caller& caller);
  static void answer(Caller& caller, const ContextReply& reply);
  [[nodiscard]] bool open(const ContextRequest& request);
  void take(Caller& caller, ContextRequest request);
  void execute(Caller& caller, ContextRequest request);
  void wait(Caller& caller);
  void drop_gone();
  void tell_progress(TimePoint now);
  void tell_status();
  [[nodiscard]] ContextStatus status() const;
  [[nodiscard]] ContextReply report();

  Hosted hosted_;
  Language language_ = Language::kPython;
  std::string program_;
  std::string name_;
  std::vector<std::string> environment_;
  std::optional<Opened> work_;
  ContextState state_{kOpenTime, steady_clock::now()};
  ContextRecorder recorder_;
  std::optional<Interpreter> interpreter_;  // after hosted_: ends first
  std::vector<Caller> callers_;
  bool leaving_ = false;
  bool gone_ = false;          // the interpreter is
  bool started_once_ = false;  // there has been one
  bool is_fresh_ = false;      // the one there is has run nothing yet, and is not the first
  bool could_start_ = true;    // the last attempt came to something
  bool greeted_ = false;       // it has said that it is there
  int exit_status_ = 0;        // of the last one's own process, as waitpid gives it
  bool has_report_ = false;    // of an execution that is over
  bool was_fetched_ = true;    // somebody got it
  std::string version_;
  std::string code_;  // that is to be sent
  std::size_t limit_ = 0;
  std::uint64_t number_ = 0;
  TimePoint wanted_at_{};
  TimePoint used_at_ = steady_clock::now();
  TimePoint told_at_{};  // progress
};

void ContextHost::run() {
  while (!leaving_) {
    turn();
  }
}

void ContextHost::turn() {
  std::vector<pollfd> ready;
  const auto want = [&](int fd, int events) {
    ready.push_back({.fd = fd, .events = static_cast<short>(events), .revents = 0});
  };
  want(callers_.size() < kMaxCallers ? hosted_.listener.get() : -1, POLLIN);
  want(recorder_.has_unlogged() ? STDOUT_FILENO : -1, POLLOUT);
  const std::size_t first_caller = ready.size();
  for (const Caller& caller : callers_) {
    want(caller.line.fd(), POLLIN);
  }
  const std::size_t first_of_interpreter = ready.size();
  if (interpreter_) {
    interpreter_->poll_into(ready, !recorder_.has_unlogged());
  }
  auto until = gone_ ? steady_clock::now() : state_.deadline();
  if (interpreter_ && interpreter_->deadline()) {
    until = std::min(until, *interpreter_->deadline());
  }
  if (state_.is_busy()) {
    until = std::min(until, steady_clock::now() + kProgressInterval);
  }
  (void)::poll(ready.data(), ready.size(), poll_timeout(until, steady_clock::now()));
  if (ready[1].revents != 0) {
    recorder_.write_log();
  }
  if (interpreter_ && ready.size() > first_of_interpreter) {
    interpreter_->take(&ready[first_of_interpreter], *this);
  }
  for (std::size_t i = first_caller; i < first_of_interpreter; ++i) {
    if (ready[i].revents != 0) {
      read(callers_[i - first_caller]);
    }
  }
  if (ready[0].revents != 0) {
    accept();
  }
  const auto now = steady_clock::now();
  if (interpreter_ && interpreter_->deadline() && now >= *interpreter_->deadline()) {
    interpreter_->give_up();
    gone_ = true;
  }
  if (std::exchange(gone_, false)) {
    interpreter_gone();
  }
  step(state_.tick(now));
  tell_progress(now);
  tell_status();
  drop_gone();
}

void ContextHost::step(Step step) {
  switch (step) {
    case Step::kNothing:
      return;
    case Step::kStart:
      return start_interpreter();
    case Step::kSend:
      return send_code();
    case Step::kInterrupt:
      return interpreter_ ? interpreter_->interrupt() : void();
    case Step::kKill:
      return interpreter_ ? interpreter_->kill() : void();
    case Step::kFinish:
      return finish();
    case Step::kLeave:
      leaving_ = true;
      return;
  }
}

void ContextHost::start_interpreter() {
  is_fresh_ = std::exchange(started_once_, true);
  greeted_ = false;
  exit_status_ = 0;
  auto started = Interpreter::start(hosted_.box->keepers, plan_interpreter(language_, program_),
                                    environment_, work_->fd.get());
  could_start_ = started.ok();
  if (started.ok()) {
    interpreter_.emplace(std::move(*started));
  } else {
    gone_ = true;  // told in the next turn, as if it had gone at once
  }
}

void ContextHost::interpreter_gone() {
  interpreter_.reset();
  could_start_ = could_start_ && greeted_;
  step(state_.all_ended(steady_clock::now()));
}

void ContextHost::send_code() {
  interpreter_->drain(*this);  // of the executions before
  recorder_.open(number_, limit_, std::exchange(is_fresh_, false));
  recorder_.begin(steady_clock::now());
  interpreter_->send(frame_code(language_, number_, limit_, std::exchange(code_, {})));
  for (Caller& caller : callers_) {
    if (caller.owns) {
      answer(caller, {.kind = ContextReply::Kind::kStarted, .report = recorder_.last()});
    }
  }
}

void ContextHost::finish() {
  const auto now = steady_clock::now();
  ExecutionReport& report = recorder_.close(now);
  report.number = number_;
  report.unread = was_fetched_ || number_ == 0 ? 0 : number_ - 1;
  report.lost_state = !state_.is_there();
  used_at_ = now;
  if (state_.never_came() || (report.lost_state && !could_start_)) {
    report.status = ExecutionStatus::kNoStart;
  } else if (state_.cause() == InterruptCause::kTimeout) {
    report.status = ExecutionStatus::kTimedOut;
  } else if (state_.cause() != InterruptCause::kNone) {
    report.status = ExecutionStatus::kInterrupted;
  } else if (report.lost_state && WIFEXITED(exit_status_)) {
    report.status = ExecutionStatus::kExited;
    report.exit_code = WEXITSTATUS(exit_status_);
  } else if (report.lost_state) {
    report.status = ExecutionStatus::kDied;
    report.signal = WIFSIGNALED(exit_status_) ? WTERMSIG(exit_status_) : 0;
  }
  has_report_ = true;
  was_fetched_ = state_.cause() == InterruptCause::kCancelled;  // nobody wants it
  for (Caller& caller : callers_) {
    if (caller.owns || caller.waits) {
      caller.owns = caller.waits = false;
      answer(caller, this->report());
    }
  }
}

ContextReply ContextHost::report() {
  was_fetched_ = true;
  return {.kind = ContextReply::Kind::kDone, .report = recorder_.last()};
}

void ContextHost::on_output(std::string_view bytes, bool is_error) {
  if (greeted_) {
    recorder_.add_output(bytes, is_error);
  }  // else: what the interpreter says of itself
}

void ContextHost::on_line(const DriverLine& line) {
  const auto now = steady_clock::now();
  if (line.kind == DriverLine::Kind::kHello) {
    version_ = line.text;
    greeted_ = true;
    step(state_.greeted(now));
  } else if (line.number != number_ || !state_.is_busy()) {
    return;  // of an execution that is over
  } else if (line.kind == DriverLine::Kind::kBegun) {
    step(state_.begun(now));
  } else {
    recorder_.add(line);
    if (line.kind == DriverLine::Kind::kDone) {
      step(state_.done(now));
    }
  }
}

void ContextHost::on_leader_ended(int wait_status) {
  exit_status_ = wait_status;
  step(state_.leader_ended());
}

void ContextHost::accept() {
  while (callers_.size() < kMaxCallers) {
    auto line = accept_hosted(hosted_);
    if (!line) {
      return;
    }
    callers_.push_back({.line = std::move(*line)});
  }
}

void ContextHost::read(Caller& caller) {
  while (!caller.gone) {
    const auto message = caller.line.receive(steady_clock::now());
    if (!message.ok()) {
      caller.gone = message.error().code != Code::kTimeout;
      return;
    }
    auto request = read_context_request(*message);
    caller.gone = !request.ok();
    if (request.ok()) {
      take(caller, std::move(*request));
    }
  }
}

void ContextHost::answer(Caller& caller, const ContextReply& reply) {
  caller.gone = caller.gone ||
                !caller.line.send(write_context_reply(reply), steady_clock::now() + kSendTime).ok();
}

// False where it is open already, or REQUEST makes no sense: the session has looked at it before.
bool ContextHost::open(const ContextRequest& request) {
  const auto language = find_language(request.language);
  if (work_ || !language) {
    return false;
  }
  std::vector<std::pair<std::string, std::string>> variables;
  for (std::size_t i = 0; i + 1 < request.variables.size(); i += 2) {
    variables.emplace_back(request.variables[i], request.variables[i + 1]);
  }
  const Box& box = *hosted_.box;
  auto environment = with_variables(box.environment, variables);
  auto path = box.workspace->parse(request.folder);
  auto folder = path.ok() ? box.workspace->open_folder(*path) : Outcome<Opened>(path.error());
  if (!environment.ok() || !folder.ok()) {
    return false;
  }
  language_ = *language;
  program_ = request.program;
  name_ = request.name;
  environment_ = std::move(*environment);
  for (const auto& [name, value] : plan_interpreter(language_, program_).variables) {
    if (find_variable(environment_, name).empty()) {
      environment_.push_back(name + "=" + value);
    }
  }
  work_.emplace(std::move(*folder));
  const seconds idle(std::clamp<std::int64_t>(request.idle_seconds, 1, kMaxIdleSeconds));
  state_ = ContextState(idle, steady_clock::now());
  step(state_.want(std::nullopt, steady_clock::now()));
  return true;
}

void ContextHost::take(Caller& caller, ContextRequest request) {
  if (request.kind == ContextRequest::Kind::kOpen) {
    caller.gone = !open(request);
  } else if (!work_) {
    return answer(caller, {.kind = ContextReply::Kind::kNothing});  // the same again in a moment
  }
  switch (request.kind) {
    case ContextRequest::Kind::kExecute:
      return execute(caller, std::move(request));
    case ContextRequest::Kind::kWait:
      return wait(caller);
    case ContextRequest::Kind::kDetach:
      caller.owns = caller.waits = false;
      return answer(caller, {.kind = ContextReply::Kind::kDetached, .status = status()});
    case ContextRequest::Kind::kInterrupt:
      answer(caller, {.kind = ContextReply::Kind::kStatus, .status = status()});
      return step(state_.interrupt(InterruptCause::kAsked, steady_clock::now()));
    case ContextRequest::Kind::kOpen:
    case ContextRequest::Kind::kStatus:
      caller.asks_status = true;
      return;
  }
}

void ContextHost::execute(Caller& caller, ContextRequest request) {
  if (state_.is_busy()) {
    return answer(caller, {.kind = ContextReply::Kind::kBusy, .status = status()});
  }
  ++number_;
  code_ = std::move(request.code);
  limit_ =
      static_cast<std::size_t>(std::clamp<std::int64_t>(request.output_bytes, 0, kMaxOutputBytes));
  caller.owns = true;
  wanted_at_ = used_at_ = steady_clock::now();
  told_at_ = wanted_at_;
  recorder_.open(number_, limit_, false);
  const milliseconds timeout(std::clamp<std::int64_t>(request.timeout_ms, 1, kMaxTimeoutMs));
  step(state_.want(timeout, wanted_at_));
}

void ContextHost::wait(Caller& caller) {
  if (state_.is_busy()) {
    caller.waits = true;
  } else if (has_report_) {
    answer(caller, report());
  } else {
    answer(caller, {.kind = ContextReply::Kind::kNothing, .status = status()});
  }
}

void ContextHost::tell_progress(TimePoint now) {
  if (!state_.is_busy() || now < told_at_ + kProgressInterval) {
    return;
  }
  told_at_ = now;
  for (Caller& caller : callers_) {
    if (caller.owns || caller.waits) {
      answer(caller,
             {.kind = ContextReply::Kind::kProgress, .output_bytes = recorder_.output_bytes()});
    }
  }
}

void ContextHost::tell_status() {
  for (Caller& caller : callers_) {
    if (caller.asks_status && !state_.is_starting()) {
      caller.asks_status = false;
      answer(caller, {.kind = ContextReply::Kind::kStatus, .status = status()});
    }
  }
}

ContextStatus ContextHost::status() const {
  const auto now = steady_clock::now();
  return {.language = std::string(language_name(language_)),
          .name = name_,
          .folder = work_->shown,
          .version = version_,
          .pid = interpreter_ ? interpreter_->pid() : -1,
          .busy = state_.is_busy(),
          .never_started = !could_start_,
          .busy_ms = state_.is_busy() ? ms_between(wanted_at_, now) : 0,
          .idle_ms = state_.is_busy() ? 0 : ms_between(used_at_, now),
          .number = number_};
}

// Whoever asked for the execution and went away without a word gave it up.
void ContextHost::drop_gone() {
  bool given_up = false;
  std::erase_if(callers_, [&](const Caller& caller) {
    given_up = given_up || (caller.gone && caller.owns);
    return caller.gone;
  });
  if (given_up) {
    step(state_.interrupt(InterruptCause::kCancelled, steady_clock::now()));
  }
}

}  // namespace

int run_context_host() {
  auto hosted = open_hosted();
  if (!hosted.ok() || !set_nonblocking(STDOUT_FILENO, true).ok()) {
    static_cast<void>(std::fprintf(stderr, "agent-box: %s\n",
                                   hosted.ok() ? "no log" : hosted.error().what.c_str()));
    return kExitSystem;
  }
  ContextHost(std::move(*hosted)).run();
  return 0;
}

}  // namespace agentbox::mcp
