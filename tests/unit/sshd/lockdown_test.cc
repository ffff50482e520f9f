// edge: tests of sshd/lockdown: what a network child can no longer do, tried in a child of ours.
#include "sshd/lockdown.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <functional>
#include <string>

#include "support/catch.h"

using namespace agentbox::sshd;

namespace {

constexpr int kWorked = 0;
constexpr int kRefused = 1;  // with EPERM
constexpr int kOther = 2;
constexpr int kNotLocked = 3;
constexpr int kKilled = 4;  // by the filter
constexpr std::size_t kPage = 4096;

/// What becomes of a locked process that does ACTION, which returns below 0 where it failed.
int fate(const std::function<long()>& action) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (!forbid_inspection().ok() || !lock_network_child().ok()) {
      ::_exit(kNotLocked);
    }
    const long result = action();
    ::_exit(result >= 0 ? kWorked : errno == EPERM ? kRefused : kOther);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) {
    CHECK(WTERMSIG(status) == SIGSYS);
    return kKilled;
  }
  return WEXITSTATUS(status);
}

#ifdef AGENTBOX_SANITIZED
constexpr int kForbidden = kRefused;
#else
constexpr int kForbidden = kKilled;
#endif

long map(int protection) {
  return ::mmap(nullptr, kPage, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1
                                                                                              : 0;
}

}  // namespace

TEST_CASE("a locked process reads, writes, waits and takes memory") {
  CHECK(fate([] { return ::poll(nullptr, 0, 1); }) == kWorked);
  CHECK(fate([] { return map(PROT_READ | PROT_WRITE); }) == kWorked);
  CHECK(fate([] { return ::fcntl(0, F_SETFL, ::fcntl(0, F_GETFL) | O_NONBLOCK); }) == kWorked);
  CHECK(fate([] { return ::fcntl(0, F_SETFD, FD_CLOEXEC); }) == kWorked);
  CHECK(fate([] {
          arm_watchdog(std::chrono::seconds(2));
          return ::time(nullptr);
        }) == kWorked);
  CHECK(fate([] { return ::syscall(SYS_tgkill, ::getpid(), ::syscall(SYS_gettid), 0); }) ==
        kWorked);
}

TEST_CASE("a stop and a continue do not end a locked process that waits") {
  const pid_t child = ::fork();
  if (child == 0) {
    static_cast<void>(lock_network_child());
    ::_exit(::poll(nullptr, 0, 300) == 0 ? 0 : 1);
  }
  // Stopped in the middle of its wait, which the kernel then takes up with restart_syscall.
  for (int i = 0; i < 20; ++i) {
    ::kill(child, SIGSTOP);
    REQUIRE(::waitpid(child, nullptr, WUNTRACED) == child);
    ::kill(child, SIGCONT);
    ::poll(nullptr, 0, 5);
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) == child) {
      CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
      return;
    }
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

TEST_CASE("what libraries try harmlessly fails with EPERM") {
  CHECK(fate([] { return ::open("/etc/passwd", O_RDONLY | O_CLOEXEC); }) == kRefused);
  CHECK(fate([] { return ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); }) == kRefused);
  CHECK(fate([] {
          int waiting = 0;
          return ::ioctl(0, FIONREAD, &waiting);
        }) == kRefused);
}

TEST_CASE("a locked process makes no process, no program and no code") {
  CHECK(fate([] { return ::fork(); }) == kForbidden);
  CHECK(fate([] { return ::execl("/bin/true", "true", nullptr); }) == kForbidden);
  CHECK(fate([] { return map(PROT_READ | PROT_EXEC); }) == kForbidden);
  CHECK(fate([] {
          void* page =
              ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
          return ::mprotect(page, kPage, PROT_READ | PROT_EXEC);
        }) == kForbidden);
  CHECK(fate([] { return ::memfd_create("code", 0); }) == kForbidden);
}

TEST_CASE("a locked process signals, traces and re-limits nobody, and takes no lock off itself") {
  const pid_t other = ::getpid();
  CHECK(fate([=] { return ::kill(other, 0); }) == kForbidden);
  CHECK(fate([=] { return ::syscall(SYS_tgkill, other, other, 0); }) == kForbidden);
  // The owner of a descriptor is sent signals: also SIGKILL, if it says so.
  CHECK(fate([=] { return ::fcntl(0, F_SETOWN, other); }) == kForbidden);
  CHECK(fate([=] { return ::fcntl(0, F_SETSIG, SIGKILL); }) == kForbidden);
  CHECK(fate([] { return ::fcntl(0, F_SETFL, O_ASYNC); }) == kForbidden);
  CHECK(fate([] { return ::fcntl(0, F_DUPFD, 10); }) == kForbidden);
  CHECK(fate([=] { return ::ptrace(PTRACE_ATTACH, other, nullptr, nullptr); }) == kForbidden);
  CHECK(fate([=] {
          const rlimit limit{4, 4};
          return ::prlimit(other, RLIMIT_NOFILE, &limit, nullptr);
        }) == kForbidden);
  CHECK(fate([] { return ::prctl(PR_SET_DUMPABLE, 1); }) == kForbidden);
}

TEST_CASE("a call that never returns is ended by the watchdog") {
  const pid_t child = ::fork();
  if (child == 0) {
    static_cast<void>(lock_network_child());
    arm_watchdog(std::chrono::seconds(1));
    for (;;) {
      static_cast<void>(::getpid());
    }
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF));
}
