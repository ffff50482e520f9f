// edge: see keeper_process.h.
#include "agentbox/keeper_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "agentbox/keeper.h"

namespace agentbox::mcp {
namespace {

using std::chrono::milliseconds;

// Where a keeper's own descriptors lie, all others being closed.
constexpr int kControlFd = 3;
constexpr int kExecFd = 4;
// Descriptors are first moved here, out of the way of their last places.
constexpr int kParkedFd = 16;

class KeeperProcess {
 public:
  explicit KeeperProcess(const KeeperJob& job) : job_(job) {}
  [[noreturn]] void run();

 private:
  void start_command();
  void keep_own_descriptors();
  void look();
  void read_requests();
  void report(KeeperReport report) const;

  KeeperJob job_;
  TreeGuard guard_;
  bool owned_ = true;
  pid_t leader_ = -1;
};

void KeeperProcess::start_command() {
  const int failed = guard_.start(job_.command);
  if (failed != 0) {
    report({.event = KeeperEvent::kFailed, .value = failed});
    ::_exit(1);
  }
  leader_ = guard_.leader();
}

// Everything of the owner's goes: its own ends must be the last ones.
void KeeperProcess::keep_own_descriptors() {
  guard_.move_exec_fd(kExecFd);
  close_from(kExecFd + 1);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd < 3; ++fd) {
    ::dup2(null, fd);
  }
  ::close(null);
}

void KeeperProcess::report(KeeperReport report) const {
  if (owned_) {
    (void)::send(job_.control, &report, sizeof(report), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
}

void KeeperProcess::look() {
  const TreeNews news = guard_.look();
  if (news.started) {
    report({.event = KeeperEvent::kStarted, .value = leader_});
  }
  if (news.failed != 0) {
    report({.event = KeeperEvent::kFailed, .value = news.failed});
  }
  if (news.leader_ended) {
    report({.event = KeeperEvent::kLeaderEnded,
            .value = news.leader_status,
            .live = news.live,
            .cpu_us = news.cpu_us,
            .max_rss_bytes = news.max_rss_bytes});
  }
  if (news.all_ended) {
    report({.event = KeeperEvent::kAllEnded});
    ::_exit(0);
  }
}

void KeeperProcess::read_requests() {
  KeeperRequest request;
  const ssize_t got = ::recv(job_.control, &request, sizeof(request), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return;
  }
  if (got != static_cast<ssize_t>(sizeof(request))) {
    owned_ = false;
    ::close(job_.control);
    (void)guard_.stop(kOrphanGrace);
    return;
  }
  switch (request.kind) {
    case KeeperRequestKind::kStop:
      (void)guard_.stop(milliseconds(request.value));
      break;
    case KeeperRequestKind::kSignal:
      (void)guard_.signal(request.value, request.tree);
      break;
    case KeeperRequestKind::kCount:
      report(
          {.event = KeeperEvent::kCounted, .live = static_cast<std::int64_t>(guard_.count_live())});
      break;
  }
}

void KeeperProcess::run() {
  // Not prctl(): a sanitizer's takes a lock that another thread may have held when this was forked.
  ::syscall(SYS_prctl, PR_SET_NAME, "box-keeper", 0, 0, 0);
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
    ::_exit(1);
  }
  ::setsid();
  const int parked = ::fcntl(job_.control, F_DUPFD_CLOEXEC, kParkedFd);
  if (parked < 0) {
    ::_exit(1);
  }
  job_.control = parked;
  start_command();
  job_.control = ::dup3(parked, kControlFd, O_CLOEXEC);
  keep_own_descriptors();
  for (;;) {
    look();
    const int wait = guard_.next_wait_ms();
    struct pollfd ready[] = {
        {.fd = guard_.children_fd(), .events = POLLIN, .revents = 0},
        {.fd = guard_.exec_fd(), .events = POLLIN, .revents = 0},
        {.fd = owned_ ? job_.control : -1, .events = POLLIN, .revents = 0},
    };
    (void)::poll(ready, 3, wait);
    if (ready[2].revents != 0) {
      read_requests();
    }
  }
}

}  // namespace

void run_keeper(const KeeperJob& job) { KeeperProcess(job).run(); }

}  // namespace agentbox::mcp
