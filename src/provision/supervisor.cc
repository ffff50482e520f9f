// edge: see supervisor.h.
#include "provision/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/handle.h"

namespace agentbox::provision {
namespace {

/// A supervisor that holds its lock has written its note as soon as its program runs: this is for
/// a machine that is busy.
constexpr std::chrono::seconds kNoteTime{10};
constexpr int kNotePauseMs = 20;
/// A command that asks whether somebody holds the lock holds it for a moment itself.
constexpr std::chrono::seconds kLockWait{5};
constexpr int kLockPauseMs = 10;

// A descriptor of the process that NOTE names, where that is still the same process.
UniqueFd open_process(const SupervisorNote& note) {
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, note.pid, 0)));
  if (!pidfd) {
    return {};
  }
  const auto stat = read_file_capped("/proc/" + std::to_string(note.pid) + "/stat", 4096);
  if (!stat.ok()) {
    return {};
  }
  const auto ticks = start_ticks_of(*stat);
  return ticks.ok() && *ticks == note.start_ticks ? std::move(pidfd) : UniqueFd();
}

// True where somebody holds the lock.
Result<bool> is_held(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) {
    return errno == ENOENT ? Result<bool>(false) : errno_error(path);
  }
  return ::flock(fd.get(), LOCK_SH | LOCK_NB) != 0;
}

// The box's lock, for a supervisor about to be started.
Result<UniqueFd> take_supervisor_lock(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) {
    return errno_error(path);
  }
  const auto deadline = std::chrono::steady_clock::now() + kLockWait;
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      return Error{Code::kExists, "the box has a supervisor already"};
    }
    ::poll(nullptr, 0, kLockPauseMs);  // a lock cannot be polled for
  }
  return fd;
}

// Asks the process to end, and makes it end where it does not. False where even that did nothing.
bool end_process(int pidfd) {
  const auto start = std::chrono::steady_clock::now();
  ::syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, nullptr, 0);
  if (wait_readable(pidfd, start + kStopTime)) {
    return true;
  }
  ::syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, nullptr, 0);  // its children die with it
  return wait_readable(pidfd, start + kStopTime + kNoteTime);
}

}  // namespace

Result<std::optional<RunningSupervisor>> find_supervisor(const BoxPaths& paths) {
  AB_TRY(held, is_held(paths.supervisor_lock));
  if (!held) {
    return std::optional<RunningSupervisor>();
  }
  RunningSupervisor running;
  const auto text = read_file_capped(paths.supervisor_note, kMaxNoteBytes);
  if (text.ok()) {
    if (auto note = parse_note(*text); note.ok()) {
      running.pidfd = open_process(*note);
      if (running.pidfd) {
        running.note = std::move(note).value();
      }
    }
  }
  return std::optional<RunningSupervisor>(std::move(running));
}

Result<Child> start_supervisor(const std::string& state_root, const BoxName& name,
                               const BoxPaths& paths) {
  const UniqueFd log(
      ::open(paths.door_log.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!log) {
    return errno_error(paths.door_log);
  }
  AB_TRY(lock, take_supervisor_lock(paths.supervisor_lock));
  SpawnPlan plan;
  plan.exe = "/proc/self/exe";
  plan.argv = {"agentbox-provision", "supervise", name.text()};
  plan.environment = {"AGENTBOX_STATE_DIR=" + state_root, "PATH=/usr/local/bin:/usr/bin:/bin"};
  pass_sanitizer_options(plan);
  plan.descriptors = {{STDERR_FILENO, log.get()}, {kSupervisorLockFd, lock.get()}};
  plan.new_session = true;
  return spawn(plan);
}

Status stop_supervisor(const BoxPaths& paths) {
  auto deadline = std::chrono::steady_clock::now() + kNoteTime;
  for (;;) {
    AB_TRY(running, find_supervisor(paths));
    if (!running) {
      return {};
    }
    if (running->note) {
      if (!end_process(running->pidfd.get())) {
        return Error{Code::kTimeout, "the box's supervisor does not end"};
      }
      // A child of it may be between fork and exec, and share the lock for that moment.
      deadline = std::chrono::steady_clock::now() + kNoteTime;
    } else if (std::chrono::steady_clock::now() > deadline) {
      return Error{Code::kSystem, "somebody holds " + paths.supervisor_lock +
                                      " and has not said who: end that process"};
    } else {
      ::poll(nullptr, 0, kNotePauseMs);  // nothing tells of the note but the note
    }
  }
}

}  // namespace agentbox::provision
