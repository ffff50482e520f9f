// edge: see keeper_process.h.
#include "agentbox/keeper_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string_view>

#include "agentbox/keeper.h"
#include "agentbox/process_tree.h"

namespace agentbox::mcp {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Where a keeper's own descriptors lie, all others being closed.
constexpr int kControlFd = 3;
constexpr int kExecFd = 4;
// Descriptors are first moved here, out of the way of their last places.
constexpr int kParkedFd = 16;
// Between two sweeps while killed processes have not all died yet.
constexpr int kSweepMs = 10;
// The exit code shells use for a program that could not be executed; nobody sees it.
constexpr int kNotExecuted = 127;
// Commands go before our own processes when memory runs out (range -1000 to 1000).
constexpr std::string_view kCommandOomScore = "300";

void close_from(unsigned first) {
  if (::syscall(SYS_close_range, first, ~0U, 0) == 0) {
    return;
  }
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const auto end = static_cast<unsigned>(std::min<rlim_t>(limit.rlim_cur, 65536));
  for (unsigned fd = first; fd < end; ++fd) {
    ::close(static_cast<int>(fd));
  }
}

[[noreturn]] void fail_exec(int number) {
  (void)!::write(kExecFd, &number, sizeof(number));
  ::_exit(kNotExecuted);
}

// The command's own process: from the keeper's child to the new program.
[[noreturn]] void become_command(const KeeperJob& job) {
  for (int signal = 1; signal < NSIG; ++signal) {
    ::signal(signal, SIG_DFL);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::setsid();
  if (::dup2(job.input, 0) < 0 || ::dup2(job.output, 1) < 0 || ::dup2(job.errors, 2) < 0 ||
      ::fchdir(job.folder) != 0) {
    fail_exec(errno);
  }
  ::close(kControlFd);
  close_from(kExecFd + 1);
  int number = ENOENT;
  for (const char* const* program = job.programs; *program != nullptr; ++program) {
    ::execve(*program, job.argv, job.environment);
    if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) {
      fail_exec(errno);
    }
    number = errno == EACCES ? EACCES : number;
  }
  fail_exec(number);
}

class KeeperProcess {
 public:
  explicit KeeperProcess(const KeeperJob& job) : job_(job), self_(::getpid()) {}
  [[noreturn]] void run();

 private:
  void take_descriptors();
  void start_command();
  void reap();
  void read_exec_result();
  void read_requests();
  void stop(milliseconds grace);
  [[nodiscard]] int next_wait_ms();
  void report(KeeperReport report) const;

  KeeperJob job_;
  pid_t self_;
  pid_t leader_ = -1;
  int exec_result_ = -1;  // reads the errno of a failed execve; -1 once known
  int children_ = -1;     // signalfd of SIGCHLD
  bool owned_ = true;
  bool stopping_ = false;
  bool killing_ = false;
  steady_clock::time_point kill_at_{};
  SweepRoom room_;
};

void KeeperProcess::take_descriptors() {
  job_.input = ::fcntl(job_.input, F_DUPFD_CLOEXEC, kParkedFd);
  job_.output = ::fcntl(job_.output, F_DUPFD_CLOEXEC, kParkedFd);
  job_.errors = ::fcntl(job_.errors, F_DUPFD_CLOEXEC, kParkedFd);
  job_.folder = ::fcntl(job_.folder, F_DUPFD_CLOEXEC, kParkedFd);
  job_.control = ::fcntl(job_.control, F_DUPFD_CLOEXEC, kParkedFd);
  int ends[2] = {-1, -1};
  if (job_.control < 0 || ::pipe2(ends, O_CLOEXEC) != 0) {
    ::_exit(1);
  }
  exec_result_ = ::fcntl(ends[0], F_DUPFD_CLOEXEC, kParkedFd);
  const int exec_end = ::fcntl(ends[1], F_DUPFD_CLOEXEC, kParkedFd);
  ::dup3(job_.control, kControlFd, O_CLOEXEC);
  ::dup3(exec_end, kExecFd, O_CLOEXEC);
  ::fcntl(exec_result_, F_SETFL, O_NONBLOCK);
}

void KeeperProcess::start_command() {
  take_descriptors();
  const pid_t pid = ::fork();
  if (pid == 0) {
    become_command(job_);
  }
  if (pid < 0) {
    report({.event = KeeperEvent::kFailed, .value = errno});
    ::_exit(1);
  }
  leader_ = pid;
  // Everything of the owner's goes: its own ends must be the last ones.
  exec_result_ = ::dup3(exec_result_, kExecFd, O_CLOEXEC);
  close_from(kExecFd + 1);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd < 3; ++fd) {
    ::dup2(null, fd);
  }
  ::close(null);
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  children_ = ::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

void KeeperProcess::report(KeeperReport report) const {
  if (owned_) {
    (void)::send(kControlFd, &report, sizeof(report), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
}

// Reports whether the program runs, once that is known.
void KeeperProcess::read_exec_result() {
  int number = 0;
  const ssize_t got = ::read(exec_result_, &number, sizeof(number));
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return;
  }
  ::close(exec_result_);
  exec_result_ = -1;
  if (got == static_cast<ssize_t>(sizeof(number))) {
    report({.event = KeeperEvent::kFailed, .value = number});
    return;
  }
  if (leader_ > 0) {
    set_oom_score(leader_, kCommandOomScore);  // not before: its /proc folder was closed to it
  }
  report({.event = KeeperEvent::kStarted});
}

void KeeperProcess::reap() {
  for (;;) {
    int status = 0;
    rusage usage{};
    const pid_t pid = ::wait4(-1, &status, WNOHANG, &usage);
    if (pid < 0 && errno == ECHILD) {
      report({.event = KeeperEvent::kAllEnded});
      ::_exit(0);
    }
    if (pid <= 0) {
      return;
    }
    if (pid != leader_) {
      continue;
    }
    leader_ = -1;
    if (exec_result_ >= 0) {
      read_exec_result();
    }
    rusage all{};
    ::getrusage(RUSAGE_CHILDREN, &all);
    const auto micros = [](const timeval& time) { return time.tv_sec * 1'000'000 + time.tv_usec; };
    report({.event = KeeperEvent::kLeaderEnded,
            .value = status,
            .live = static_cast<std::int64_t>(count_live_descendants(self_, room_.now)),
            .cpu_us = micros(all.ru_utime) + micros(all.ru_stime),
            .max_rss_bytes = usage.ru_maxrss * 1024});
  }
}

void KeeperProcess::stop(milliseconds grace) {
  const auto kill_at = steady_clock::now() + grace;
  if (!stopping_) {
    signal_descendants(self_, SIGTERM, room_.now);
    signal_descendants(self_, SIGCONT, room_.now);
    kill_at_ = kill_at;
  }
  kill_at_ = std::min(kill_at_, kill_at);
  stopping_ = true;
}

void KeeperProcess::read_requests() {
  KeeperRequest request;
  const ssize_t got = ::recv(kControlFd, &request, sizeof(request), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return;
  }
  if (got != static_cast<ssize_t>(sizeof(request))) {
    owned_ = false;
    ::close(kControlFd);
    stop(kOrphanGrace);
    return;
  }
  if (request.kind == KeeperRequestKind::kStop) {
    stop(milliseconds(request.grace_ms));
  } else {
    report({.event = KeeperEvent::kCounted,
            .live = static_cast<std::int64_t>(count_live_descendants(self_, room_.now))});
  }
}

int KeeperProcess::next_wait_ms() {
  if (stopping_ && !killing_) {
    const auto left = std::chrono::ceil<milliseconds>(kill_at_ - steady_clock::now()).count();
    if (left > 0) {
      return static_cast<int>(left);
    }
    killing_ = true;
  }
  if (killing_) {
    freeze_and_kill_descendants(self_, room_);
    return kSweepMs;
  }
  return -1;
}

void KeeperProcess::run() {
  ::prctl(PR_SET_NAME, "box-keeper", 0, 0, 0);
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
    ::_exit(1);
  }
  ::setsid();
  start_command();
  for (;;) {
    reap();
    const int wait = next_wait_ms();
    struct pollfd ready[] = {
        {.fd = children_, .events = POLLIN, .revents = 0},
        {.fd = exec_result_, .events = POLLIN, .revents = 0},
        {.fd = owned_ ? kControlFd : -1, .events = POLLIN, .revents = 0},
    };
    (void)::poll(ready, 3, wait);
    if (ready[0].revents != 0) {
      signalfd_siginfo ignored[4];
      (void)!::read(children_, ignored, sizeof(ignored));
    }
    if (ready[1].revents != 0) {
      read_exec_result();
    }
    if (ready[2].revents != 0) {
      read_requests();
    }
  }
}

}  // namespace

void run_keeper(const KeeperJob& job) { KeeperProcess(job).run(); }

}  // namespace agentbox::mcp
