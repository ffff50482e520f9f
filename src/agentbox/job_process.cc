// edge: see job_process.h.
#include "agentbox/job_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <utility>
#include <vector>

#include "agentbox/c_strings.h"
#include "agentbox/job_folder.h"
#include "agentbox/job_log.h"
#include "agentbox/job_plan.h"
#include "agentbox/job_record.h"
#include "agentbox/job_streams.h"
#include "agentbox/keeper.h"
#include "agentbox/process_stat.h"
#include "agentbox/tree_guard.h"
#include "base/deadline.h"
#include "base/record_io.h"

namespace agentbox::mcp {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using TimePoint = steady_clock::time_point;

// Where a keeper's own descriptors lie, all others being closed.
constexpr int kControlFd = 3;
constexpr int kOutFd = 4;
constexpr int kParkedFd = 16;
// Who asked for the job has this long to say what it is.
constexpr seconds kLaunchTime{10};
// Of output in one turn, so that a flood keeps nobody from being heard: what a pipe holds.
constexpr std::size_t kTurnBytes = 64 * 1024;
// At the end no more than this is read, whoever still writes.
constexpr std::size_t kLastWordsBytes = 1024 * 1024;
// Between a failure and the next attempt; twice as long each time, up to the second.
constexpr seconds kFirstPause{1};
constexpr seconds kLongestPause{30};

struct Caller {
  UniqueFd line;
  std::optional<record::JobAsked> asked = {};
  bool gone = false;
};

class JobProcess {
 public:
  explicit JobProcess(const JobSeat& seat) : seat_(seat), folder_(seat.out) {}
  [[noreturn]] void run();

 private:
  void take_descriptors();
  void turn();
  [[nodiscard]] int wait_ms();
  void pass_deadlines(TimePoint now);

  void read_control();
  void read_caller(Caller& caller);
  void answer(Caller& caller, const record::Record& message);
  void done(Caller& caller, int error, std::uint64_t count = 0);
  void answer_asked();

  void launch(Caller& caller, std::vector<UniqueFd> fds);
  [[noreturn]] void fail_launch(Caller& caller, const Error& error);
  [[nodiscard]] Status take_plan(int file);
  [[nodiscard]] int start();
  void look();
  void leader_ended(const TreeNews& news);
  [[nodiscard]] bool restarts() const;
  void stop(milliseconds grace, const std::string& why);

  void take_input(Caller& caller, const record::JobInput& wanted, std::vector<UniqueFd> fds);
  void give_up_input(Caller& caller);
  void write_input();
  void resize(Caller& caller, const record::JobResize& size);

  Status save();
  [[nodiscard]] record::JobState state(bool over);
  [[noreturn]] void finish();

  JobSeat seat_;
  JobFolder folder_;
  JobPlan plan_;
  UniqueFd place_;  // the job's own folder
  UniqueFd work_;   // where the command runs
  UniqueFd line_;   // for a program of ours: to the spawner
  std::optional<LogWriter> log_;
  TreeGuard guard_;
  JobRecord record_;
  bool owned_ = true;
  bool was_called_ = false;
  bool launched_ = false;
  bool running_ = false;  // there is, or may be, a process of the job
  JobStreams streams_;
  Caller* writer_ = nullptr;    // whose input is being written
  Caller* launcher_ = nullptr;  // who waits for the program to be executed
  std::vector<std::unique_ptr<Caller>> callers_;
  TimePoint launch_by_ = steady_clock::now() + kLaunchTime;
  std::optional<TimePoint> lifetime_ends_;
  std::optional<TimePoint> restart_at_;
  seconds pause_ = kFirstPause;
};

void JobProcess::take_descriptors() {
  const int control = ::fcntl(seat_.control, F_DUPFD_CLOEXEC, kParkedFd);
  const int out = seat_.out < 0 ? -1 : ::fcntl(seat_.out, F_DUPFD_CLOEXEC, kParkedFd);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (control < 0 || null < 0) {
    ::_exit(1);
  }
  ::dup2(null, 0);
  ::dup2(null, 1);
  seat_.control = ::dup3(control, kControlFd, O_CLOEXEC);
  seat_.out = out < 0 ? -1 : ::dup3(out, kOutFd, O_CLOEXEC);
  close_from(seat_.out < 0 ? kOutFd : kOutFd + 1);
  folder_ = JobFolder(seat_.out);
}

int JobProcess::wait_ms() {
  const auto now = steady_clock::now();
  int wait = running_ ? guard_.next_wait_ms() : -1;
  const auto earlier = [&](TimePoint deadline) {
    const int left = poll_timeout(deadline, now);
    wait = wait < 0 ? left : std::min(wait, left);
  };
  if (!launched_) {
    earlier(launch_by_);
  }
  if (lifetime_ends_ && !guard_.stopping()) {
    earlier(*lifetime_ends_);
  }
  if (restart_at_) {
    earlier(*restart_at_);
  }
  return wait;
}

void JobProcess::pass_deadlines(TimePoint now) {
  if (!launched_ && now >= launch_by_) {
    ::_exit(1);
  }
  if (lifetime_ends_ && now >= *lifetime_ends_) {
    lifetime_ends_.reset();
    stop(kStopGrace, "max_lifetime_seconds");
  }
  if (restart_at_ && now >= *restart_at_) {
    restart_at_.reset();
    ++record_.restarts;
    if (start() != 0) {
      finish();
    }
  }
}

void JobProcess::turn() {
  const int wait = wait_ms();
  std::vector<pollfd> ready;
  const auto want = [&](int fd, bool wanted, short events) {
    ready.push_back({.fd = wanted ? fd : -1, .events = events, .revents = 0});
  };
  want(seat_.control, owned_, POLLIN);
  want(guard_.children_fd(), true, POLLIN);
  want(guard_.exec_fd(), true, POLLIN);
  want(streams_.output_fd(), true, POLLIN);
  want(streams_.inlet_fd(), streams_.is_writing(), POLLOUT);
  constexpr std::size_t kFirstCaller = 5;
  for (const auto& caller : callers_) {
    want(caller->line.get(), true, POLLIN);
  }
  (void)::poll(ready.data(), ready.size(), wait);
  if (ready[3].revents != 0) {
    streams_.read_into(*log_, kTurnBytes);
  }
  if (ready[4].revents != 0) {
    write_input();
  }
  for (std::size_t i = kFirstCaller; i < ready.size(); ++i) {
    if (ready[i].revents != 0) {
      read_caller(*callers_[i - kFirstCaller]);
    }
  }
  if (ready[0].revents != 0) {
    read_control();
  }
  pass_deadlines(steady_clock::now());
  if (running_) {
    look();
  }
  answer_asked();
  std::erase_if(callers_, [&](const auto& caller) {
    if (caller->gone && writer_ == caller.get()) {
      (void)streams_.give_up();
      writer_ = nullptr;
    }
    if (caller->gone && launcher_ == caller.get()) {
      launcher_ = nullptr;
    }
    return caller->gone;
  });
  if (!launched_ && was_called_ && callers_.empty()) {
    ::_exit(1);  // who wanted the job went away before saying what it is
  }
}

void JobProcess::read_control() {
  auto received = receive_record(seat_.control);
  if (!received.ok() && received.error().code == Code::kUnavailable) {
    return;
  }
  if (!received.ok() || !received->has_value()) {
    owned_ = false;
    stop(kOrphanGrace, "the end of the box");
    return;
  }
  Received& message = **received;
  if (std::holds_alternative<record::JobCaller>(message.record)) {
    if (message.fds.size() == 1 && callers_.size() < kMaxJobCallers &&
        set_nonblocking(message.fds[0].get(), true).ok()) {
      was_called_ = true;
      callers_.push_back(std::make_unique<Caller>(Caller{.line = std::move(message.fds[0])}));
    }
  } else if (const auto* wanted = std::get_if<record::JobStop>(&message.record)) {
    stop(milliseconds(wanted->grace_ms), wanted->why);
  }
}

void JobProcess::answer(Caller& caller, const record::Record& message) {
  // A caller that does not read is let go: nobody here waits for it.
  caller.gone = caller.gone || !send_record(caller.line.get(), message).ok();
}

void JobProcess::done(Caller& caller, int error, std::uint64_t count) {
  answer(caller, record::JobDone{.error = error, .count = count});
}

void JobProcess::read_caller(Caller& caller) {
  auto received = receive_record(caller.line.get());
  if (!received.ok() || !received->has_value()) {
    caller.gone = received.ok() || received.error().code != Code::kUnavailable;
    return;
  }
  record::Record& message = (*received)->record;
  if (std::holds_alternative<record::JobLaunch>(message)) {
    launch(caller, std::move((*received)->fds));
  } else if (!launched_) {
    done(caller, EAGAIN);
  } else if (const auto* asked = std::get_if<record::JobAsked>(&message)) {
    caller.asked = *asked;
  } else if (const auto* wanted = std::get_if<record::JobStop>(&message)) {
    const std::size_t before = guard_.stopping() ? 0 : guard_.count_live();
    stop(milliseconds(wanted->grace_ms), wanted->why);
    done(caller, 0, before);
  } else if (const auto* signal = std::get_if<record::JobSignal>(&message)) {
    const bool known = signal->number > 0 && signal->number < NSIG;
    done(caller, known ? 0 : EINVAL, known ? guard_.signal(signal->number, signal->tree) : 0);
  } else if (const auto* input = std::get_if<record::JobInput>(&message)) {
    take_input(caller, *input, std::move((*received)->fds));
  } else if (std::holds_alternative<record::JobInputOver>(message)) {
    give_up_input(caller);
  } else if (const auto* size = std::get_if<record::JobResize>(&message)) {
    resize(caller, *size);
  } else {
    caller.gone = true;
  }
}

void JobProcess::answer_asked() {
  for (const auto& caller : callers_) {
    if (caller->asked && !caller->gone &&
        (caller->asked->at_once || log_->end() > caller->asked->log_end)) {
      caller->asked.reset();
      answer(*caller, state(false));
    }
  }
}

record::JobState JobProcess::state(bool over) {
  return {.over = over,
          .pid = static_cast<std::int32_t>(record_.pid),
          .leader_ended = record_.leader_ended,
          .live = over ? 0 : guard_.count_live(),
          .log_end = log_ ? log_->end() : 0};
}

Status JobProcess::take_plan(int file) {
  AB_TRY(bytes, read_fd_capped(file, kMaxPlanBytes));
  AB_TRY(plan, decode_plan(bytes));
  plan_ = std::move(plan);
  return {};
}

void JobProcess::launch(Caller& caller, std::vector<UniqueFd> fds) {
  if (launched_ || fds.size() < 2 || fds.size() > 3) {
    done(caller, EPROTO);
    return;
  }
  work_ = std::move(fds[0]);
  if (!take_plan(fds[1].get()).ok()) {
    done(caller, EPROTO);
    return;
  }
  if (fds.size() == 3) {
    line_ = std::move(fds[2]);
  }
  auto place = folder_.make(seat_.id);
  if (place.ok()) {
    place_ = std::move(*place);
    log_.emplace(place_.get(), kJobLogPieceBytes, true);
  }
  const Status logs = place.ok() ? log_->open() : Status(place.error());
  if (!logs.ok()) {
    fail_launch(caller, logs.error());
  }
  launched_ = true;
  const auto self = read_process_stat(::getpid());
  record_.id = seat_.id;
  record_.name = seat_.name;
  record_.kind = plan_.kind;
  record_.key = seat_.key;
  record_.session = seat_.session;
  record_.command = plan_.command;
  record_.folder = plan_.folder;
  record_.terminal = plan_.terminal;
  record_.keeper_pid = ::getpid();
  record_.keeper_start = self ? self->start : 0;
  record_.started_ms = now_ms();
  launcher_ = &caller;
  // Before it runs: a job that nobody could find again is none.
  if (const Status saved = save(); !saved.ok()) {
    fail_launch(caller, saved.error());
  }
  if (const int failed = start(); failed != 0) {
    fail_launch(caller, errno_error("start", failed));
  }
  if (plan_.lifetime_seconds > 0) {
    lifetime_ends_ = steady_clock::now() + seconds(plan_.lifetime_seconds);
  }
}

// It never was a job.
void JobProcess::fail_launch(Caller& caller, const Error& error) {
  ::close(seat_.control);  // as in finish()
  folder_.remove(seat_.id);
  done(caller, error.os_errno == 0 ? EIO : error.os_errno);
  ::_exit(1);
}

// An errno, or 0.
int JobProcess::start() {
  JobStreams::Theirs theirs;
  if (const int failed = streams_.open(plan_, theirs); failed != 0) {
    return failed;
  }
  std::vector<const char*> programs;
  for (const std::string& program : plan_.programs) {
    programs.push_back(program.c_str());
  }
  programs.push_back(nullptr);
  const std::vector<char*> argv = pointers_to(plan_.argv);
  std::vector<std::string> variables = plan_.environment;
  if (is_hosted(plan_.kind)) {
    variables.push_back("AGENTBOX_JOB=" + seat_.id);
  }
  const std::vector<char*> environment = pointers_to(variables);
  record_.leader_ended = false;
  running_ = true;
  const int failed =
      guard_.start({.programs = programs.data(),
                    .argv = argv.data(),
                    .environment = environment.data(),
                    .folder = work_.get(),
                    .input = plan_.terminal ? theirs.output.get() : theirs.input.get(),
                    .output = theirs.output.get(),
                    .errors = theirs.output.get(),
                    .extra = line_.get(),
                    .terminal = plan_.terminal});
  record_.pid = guard_.leader();
  return failed;
}

void JobProcess::look() {
  const TreeNews news = guard_.look();
  if (news.failed != 0 && launcher_ != nullptr) {
    fail_launch(*launcher_, errno_error("execute", news.failed));
  }
  if (news.started) {
    static_cast<void>(save());
    if (launcher_ != nullptr) {
      done(*std::exchange(launcher_, nullptr), 0);
    }
  }
  if (news.leader_ended) {
    leader_ended(news);
  }
  if (news.all_ended) {
    running_ = false;
    streams_.read_into(*log_, kLastWordsBytes);
    streams_.close();
    if (!restarts()) {
      finish();
    }
    restart_at_ = steady_clock::now() + pause_;
    pause_ = std::min(pause_ * 2, kLongestPause);
  }
}

void JobProcess::leader_ended(const TreeNews& news) {
  record_.leader_ended = true;
  record_.exit_code = WIFEXITED(news.leader_status) ? WEXITSTATUS(news.leader_status) : -1;
  record_.signal = WIFSIGNALED(news.leader_status) ? WTERMSIG(news.leader_status) : 0;
  record_.cpu_us = news.cpu_us;
  record_.max_rss_bytes = std::max(record_.max_rss_bytes, news.max_rss_bytes);
  static_cast<void>(save());
}

bool JobProcess::restarts() const {
  return plan_.restart && !guard_.stopping() && record_.exit_code != 0;
}

void JobProcess::stop(milliseconds grace, const std::string& why) {
  if (!guard_.stopping()) {
    record_.ended_by = why;
  }
  (void)guard_.stop(grace);
  if (!launched_) {
    ::_exit(0);
  }
  if (!running_) {
    finish();
  }
}

void JobProcess::take_input(Caller& caller, const record::JobInput& wanted,
                            std::vector<UniqueFd> fds) {
  if (const auto result = streams_.take(wanted, std::move(fds))) {
    done(caller, result->error, result->count);
  } else {
    writer_ = &caller;
  }
}

void JobProcess::write_input() {
  const auto result = streams_.go_on();
  if (result && writer_ != nullptr) {
    done(*std::exchange(writer_, nullptr), result->error, result->count);
  }
}

void JobProcess::give_up_input(Caller& caller) {
  if (writer_ == &caller) {
    const InputDone result = streams_.give_up();
    writer_ = nullptr;
    done(caller, result.error, result.count);
  }
}

void JobProcess::resize(Caller& caller, const record::JobResize& size) {
  const int error = streams_.resize(size.columns, size.rows);
  if (error == 0) {
    plan_.columns = size.columns;  // for a restart
    plan_.rows = size.rows;
  }
  done(caller, error);
}

// Where it cannot, the box's own code may have broken its folder; a running job goes on all the
// same.
Status JobProcess::save() {
  record_.log_lost = log_->lost();
  return write_job_record(place_.get(), record_);
}

void JobProcess::finish() {
  record_.ended_ms = now_ms();
  record_.status = record_.signal == 0 ? JobStatus::kExited : JobStatus::kKilled;
  ::close(seat_.control);  // the name is free before anybody can know that the job is over
  static_cast<void>(save());
  for (const auto& caller : callers_) {
    answer(*caller, state(true));
  }
  ::_exit(0);
}

void JobProcess::run() {
  ::prctl(PR_SET_NAME, "box-job", 0, 0, 0);
  sigset_t all;
  ::sigfillset(&all);
  if (::sigprocmask(SIG_SETMASK, &all, nullptr) != 0 ||
      ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
    ::_exit(1);
  }
  ::setsid();
  take_descriptors();
  for (;;) {
    turn();
  }
}

}  // namespace

void run_job(const JobSeat& seat) { JobProcess(seat).run(); }

}  // namespace agentbox::mcp
