// edge: a job host in a process of its own, for an agent-box that nobody spawned; see job_host.h.
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "agentbox/job_host.h"
#include "agentbox/keeper.h"
#include "agentbox/process_tree.h"
#include "agentbox/tree_guard.h"
#include "base/deadline.h"

namespace agentbox::mcp {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kLineFd = 3;
constexpr int kParkedFd = 16;
// Strays that are not dead after this are looked at again a little later.
constexpr milliseconds kSweepTime{50};

class Helper {
 public:
  Helper(JobHost host, int signals) : host_(std::move(host)), signals_(signals) {}

  void run() {
    while (host_.has_callers()) {
      turn();
    }
    host_.end_all(kOrphanGrace, "the end of the session");
    while (!host_.empty()) {
      turn();
    }
    (void)kill_other_children({}, steady_clock::now() + kKeeperSlack);
  }

 private:
  void turn() {
    std::vector<pollfd> ready = {{.fd = signals_, .events = POLLIN, .revents = 0}};
    host_.poll_into(ready);
    const auto now = steady_clock::now();
    const auto deadline = straying_ ? now + kSweepTime : host_.deadline();
    (void)::poll(ready.data(), ready.size(), deadline ? poll_timeout(*deadline, now) : -1);
    if (ready[0].revents != 0 || straying_) {
      reap();
    }
    host_.take(std::span(ready).subspan(1));
    host_.pass_deadlines(steady_clock::now());
  }

  void reap() {
    signalfd_siginfo ignored{};
    while (::read(signals_, &ignored, sizeof(ignored)) > 0) {
    }
    for (pid_t pid = 0; (pid = ::waitpid(-1, nullptr, WNOHANG)) > 0;) {
      (void)host_.reaped(pid);
    }
    std::vector<pid_t> keep;
    host_.append_keepers(keep);
    straying_ = !kill_other_children(keep, steady_clock::now() + kSweepTime);
  }

  JobHost host_;
  int signals_;
  bool straying_ = false;
};

[[noreturn]] void run_helper(UniqueFd line, const std::string& out) {
  ::prctl(PR_SET_NAME, "box-jobs", 0, 0, 0);
  sigset_t all;
  ::sigfillset(&all);
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  const int parked = ::fcntl(line.get(), F_DUPFD_CLOEXEC, kParkedFd);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (::sigprocmask(SIG_SETMASK, &all, nullptr) != 0 ||
      ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 || parked < 0 || null < 0 ||
      ::dup2(null, 0) < 0 || ::dup2(null, 1) < 0 || ::dup3(parked, kLineFd, O_CLOEXEC) < 0) {
    ::_exit(1);
  }
  (void)line.release();
  ::setsid();
  close_from(kLineFd + 1);
  const int signals = ::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  UniqueFd folder(out.empty() ? -1 : ::open(out.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  JobHost host(std::move(folder), [](std::string_view) {});
  host.adopt(UniqueFd(kLineFd), "", "");
  Helper(std::move(host), signals).run();
  ::_exit(0);
}

}  // namespace

Result<JobHelper> start_job_helper(const std::string& out) {
  AB_TRY(pair, make_socketpair(SOCK_SEQPACKET));
  AB_CHECK(set_nonblocking(pair.first.get(), true));
  const pid_t pid = ::fork();
  if (pid == 0) {
    run_helper(std::move(pair.first), out);
  }
  if (pid < 0) {
    return errno_error("fork");
  }
  return JobHelper{.pid = pid, .line = std::move(pair.second)};
}

}  // namespace agentbox::mcp
