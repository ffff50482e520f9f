// edge: see tree_guard.h.
#include "agentbox/tree_guard.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string_view>

#include "base/defence.h"

namespace agentbox::mcp {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Where the new program's process reports a failed execve; closed by a successful one.
constexpr int kExecFd = kExtraFd + 1;
// Descriptors are first moved here, out of the way of their last places.
constexpr int kParkedFd = 16;
// Between two sweeps while killed processes have not all died yet.
constexpr int kSweepMs = 10;
// The exit code shells use for a program that could not be executed; nobody sees it.
constexpr int kNotExecuted = 127;
// Commands go before our own processes when memory runs out (range -1000 to 1000).
constexpr std::string_view kCommandOomScore = "300";

[[noreturn]] void fail_exec(int exec_fd, int number) {
  (void)!::write(exec_fd, &number, sizeof(number));
  ::_exit(kNotExecuted);
}

int park(int fd) { return ::fcntl(fd, F_DUPFD_CLOEXEC, kParkedFd); }

// The command's own process: from the guard's child to the new program.
[[noreturn]] void become_command(const CommandParts& parts, int exec_end) {
  const int exec_fd = park(exec_end);
  const int input = park(parts.input);
  const int output = park(parts.output);
  const int errors = park(parts.errors);
  const int folder = park(parts.folder);
  const int extra = parts.extra < 0 ? -1 : park(parts.extra);
  for (int signal = 1; signal < NSIG; ++signal) {
    ::signal(signal, SIG_DFL);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::setsid();
  if ((parts.terminal && ::ioctl(input, TIOCSCTTY, 0) != 0) || ::dup2(input, 0) < 0 ||
      ::dup2(output, 1) < 0 || ::dup2(errors, 2) < 0 || ::fchdir(folder) != 0 ||
      (extra >= 0 && ::dup2(extra, kExtraFd) < 0) || ::dup3(exec_fd, kExecFd, O_CLOEXEC) < 0) {
    fail_exec(exec_fd, errno);
  }
  if (extra < 0) {
    ::close(kExtraFd);
  }
  close_from(kExecFd + 1);
  int number = ENOENT;
  for (const char* const* program = parts.programs; *program != nullptr; ++program) {
    ::execve(*program, parts.argv, parts.environment);
    if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) {
      fail_exec(kExecFd, errno);
    }
    number = errno == EACCES ? EACCES : number;
  }
  fail_exec(kExecFd, number);
}

std::int64_t micros(const timeval& time) { return time.tv_sec * 1'000'000 + time.tv_usec; }

}  // namespace

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

int TreeGuard::start(const CommandParts& parts) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    return errno;
  }
  const pid_t pid = ::fork();
  if (pid == 0) {
    become_command(parts, ends[1]);
  }
  const int number = errno;
  ::close(ends[1]);
  if (pid < 0) {
    ::close(ends[0]);
    return number;
  }
  leader_ = pid;
  exec_result_ = ends[0];
  return 0;
}

void TreeGuard::move_exec_fd(int fd) {
  if (exec_result_ >= 0 && exec_result_ != fd) {
    const int moved = ::dup3(exec_result_, fd, O_CLOEXEC);
    ::close(exec_result_);
    exec_result_ = moved;
  }
}

int TreeGuard::children_fd() {
  if (children_ < 0) {
    sigset_t child;
    ::sigemptyset(&child);
    ::sigaddset(&child, SIGCHLD);
    children_ = ::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  return children_;
}

void TreeGuard::read_exec_result(TreeNews& news) {
  int number = 0;
  const ssize_t got = ::read(exec_result_, &number, sizeof(number));
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return;
  }
  ::close(exec_result_);
  exec_result_ = -1;
  if (got == static_cast<ssize_t>(sizeof(number))) {
    news.failed = number;
    return;
  }
  news.started = true;
  if (leader_ > 0) {
    set_oom_score(leader_, kCommandOomScore);  // not before: its /proc folder was closed to it
  }
}

TreeNews TreeGuard::look() {
  TreeNews news;
  signalfd_siginfo ignored[4];
  while (::read(children_fd(), ignored, sizeof(ignored)) > 0) {
  }
  for (;;) {
    int status = 0;
    rusage usage{};
    const pid_t pid = ::wait4(-1, &status, WNOHANG, &usage);
    if (pid <= 0) {
      news.all_ended = pid < 0 && errno == ECHILD;
      break;
    }
    if (pid != leader_) {
      continue;
    }
    rusage all{};
    ::getrusage(RUSAGE_CHILDREN, &all);
    news.leader_ended = true;
    news.leader_status = status;
    news.cpu_us = micros(all.ru_utime) + micros(all.ru_stime);
    news.max_rss_bytes = usage.ru_maxrss * 1024;
    leader_ = -1;
  }
  if (exec_result_ >= 0) {
    read_exec_result(news);
  }
  if (news.leader_ended) {
    news.live = static_cast<std::int64_t>(count_live());
  }
  return news;
}

std::size_t TreeGuard::stop(milliseconds grace) {
  const auto kill_at = steady_clock::now() + grace;
  std::size_t signalled = 0;
  if (!stopping_) {
    signalled = signal(SIGTERM, true);
    (void)signal(SIGCONT, true);
    kill_at_ = kill_at;
  }
  kill_at_ = std::min(kill_at_, kill_at);
  stopping_ = true;
  return signalled;
}

int TreeGuard::next_wait_ms() {
  if (stopping_ && !killing_) {
    const auto left = std::chrono::ceil<milliseconds>(kill_at_ - steady_clock::now()).count();
    if (left > 0) {
      return static_cast<int>(left);
    }
    killing_ = true;
  }
  if (killing_ && !defended("tree-kill")) {
    (void)signal(SIGKILL, false);
  } else if (killing_) {
    freeze_and_kill_descendants(self_, room_);
    return kSweepMs;
  }
  return -1;
}

std::size_t TreeGuard::signal(int number, bool tree) {
  if (tree && defended("tree-kill")) {
    signal_descendants(self_, number, room_.now);
    return room_.now.count;
  }
  // Not reaped yet, so its number is nobody else's.
  return leader_ > 0 && ::kill(leader_, number) == 0 ? 1 : 0;
}

std::size_t TreeGuard::count_live() { return count_live_descendants(self_, room_.now); }

}  // namespace agentbox::mcp
