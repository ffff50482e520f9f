// edge: see process.h.
#include "base/process.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

namespace agentbox {
namespace {

// Where in the child a step failed, sent to the parent over a pipe that execve closes.
struct Failure {
  int step = 0;
  int number = 0;
};
constexpr std::array<const char*, 9> kSteps = {"new session", "working folder", "descriptors",
                                               "nice",        "groups",         "group",
                                               "user",        "death signal",   "execute"};

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (const std::string& text : texts) {
    out.push_back(const_cast<char*>(
        text.c_str()));  // NOLINT(cppcoreguidelines-pro-type-const-cast): execve's signature
  }
  out.push_back(nullptr);
  return out;
}

// Everything in the child between fork and execve; only calls that are safe there.
class ChildSide {
 public:
  ChildSide(const SpawnPlan& plan, int report, pid_t parent, char* const* argv,
            char* const* environment)
      : plan_(plan), report_(report), parent_(parent), argv_(argv), environment_(environment) {}

  [[noreturn]] void run() {
    reset_signals();
    check(0, !plan_.new_session || ::setsid() >= 0);
    check(1, ::chdir(plan_.working_folder.c_str()) == 0);
    place_descriptors();
    errno = 0;
    check(3, plan_.nice == 0 || ::nice(plan_.nice) != -1 || errno == 0);
    become();
    // After the identity: a change of uid clears the setting.
    check(7, plan_.parent_death_signal == 0 ||
                 ::prctl(PR_SET_PDEATHSIG, plan_.parent_death_signal) == 0);
    if (plan_.parent_death_signal != 0 && ::getppid() != parent_) {
      ::_exit(127);  // the parent died before the setting took hold
    }
    ::execve(plan_.exe.c_str(), argv_, environment_);
    check(8, false);
    ::_exit(127);
  }

 private:
  void check(int step, bool good) {
    if (good) {
      return;
    }
    const Failure failure{step, errno};
    static_cast<void>(!::write(report_, &failure, sizeof failure));
    ::_exit(127);
  }

  static void reset_signals() {
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    for (int signal = 1; signal < NSIG; ++signal) {
      ::sigaction(signal, &standard, nullptr);
    }
    sigset_t none{};
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
  }

  // Sources are first lifted above every target, so that no placing overwrites a source.
  void place_descriptors() {
    int top = 2;
    for (const auto& entry : plan_.descriptors) {
      top = std::max(top, entry.in_child);
    }
    report_ = ::fcntl(report_, F_DUPFD_CLOEXEC, top + 1);
    check(2, report_ >= 0);
    std::array<int, 16> lifted{};
    check(2, plan_.descriptors.size() <= lifted.size());
    for (std::size_t i = 0; i < plan_.descriptors.size(); ++i) {
      lifted[i] = ::fcntl(plan_.descriptors[i].source, F_DUPFD_CLOEXEC, top + 1);
      check(2, lifted[i] >= 0);
    }
    for (int standard = 0; standard < 3; ++standard) {
      const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
      check(2, null >= 0 &&
                   (null == standard ? ::fcntl(null, F_SETFD, 0) : ::dup2(null, standard)) >= 0);
    }
    for (std::size_t i = 0; i < plan_.descriptors.size(); ++i) {
      check(2, ::dup2(lifted[i], plan_.descriptors[i].in_child) >= 0);
    }
    // Descriptors that other libraries opened without O_CLOEXEC stop here too.
    for (int fd = 3; fd <= top; ++fd) {
      const bool wanted = std::any_of(plan_.descriptors.begin(), plan_.descriptors.end(),
                                      [&](const auto& entry) { return entry.in_child == fd; });
      if (!wanted) {
        ::close(fd);
      }
    }
    constexpr unsigned kCloseRangeCloexec = 4;
    ::syscall(SYS_close_range, static_cast<unsigned>(top) + 1U, ~0U, kCloseRangeCloexec);
  }

  void become() {
    if (!plan_.identity) {
      return;
    }
    check(4, ::setgroups(0, nullptr) == 0);
    check(5, ::setresgid(plan_.identity->gid, plan_.identity->gid, plan_.identity->gid) == 0);
    check(6, ::setresuid(plan_.identity->uid, plan_.identity->uid, plan_.identity->uid) == 0);
  }

  const SpawnPlan& plan_;
  int report_;
  pid_t parent_;
  char* const* argv_;
  char* const* environment_;
};

}  // namespace

void pass_sanitizer_options([[maybe_unused]] SpawnPlan& plan) {
#ifdef AGENTBOX_SANITIZED
  for (const char* name : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS"}) {
    if (const char* value = std::getenv(name)) {  // NOLINT(concurrency-mt-unsafe): one thread
      plan.environment.push_back(std::string(name) + '=' + value);
    }
  }
#endif
}

Result<Child> spawn(const SpawnPlan& plan) {
  AB_TRY(report, make_pipe());
  const auto argv = pointers_to(plan.argv);
  const auto environment = pointers_to(plan.environment);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) {
    return errno_error("fork");
  }
  if (pid == 0) {
    ChildSide(plan, report.second.get(), parent, argv.data(), environment.data()).run();
  }
  Child child{pid, UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)))};
  report.second.reset();
  Failure failure;
  ssize_t got = -1;
  do {
    got = ::read(report.first.get(), &failure, sizeof failure);
  } while (got < 0 && errno == EINTR);
  if (got == 0) {
    return child;
  }
  static_cast<void>(wait_for(child));
  const auto step =
      static_cast<std::size_t>(std::clamp(failure.step, 0, static_cast<int>(kSteps.size()) - 1));
  return errno_error(plan.exe + ": " + kSteps[step], failure.number);
}

ExitStatus exit_status_of(int wait_status) {
  return WIFEXITED(wait_status) ? ExitStatus{true, WEXITSTATUS(wait_status)}
                                : ExitStatus{false, WTERMSIG(wait_status)};
}

Result<ExitStatus> wait_for(const Child& child) {
  int status = 0;
  while (::waitpid(child.pid, &status, 0) < 0) {
    if (errno != EINTR) {
      return errno_error("wait");
    }
  }
  return exit_status_of(status);
}

}  // namespace agentbox
