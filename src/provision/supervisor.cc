// edge: see supervisor.h.
#include "provision/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

#include "base/handle.h"

namespace agentbox::provision {
namespace {

/// Between taking its lock and writing its note a supervisor makes two system calls.
constexpr std::chrono::milliseconds kNoteTime{2000};
constexpr int kNotePauseMs = 20;

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

}  // namespace

void pass_sanitizer_options([[maybe_unused]] SpawnPlan& plan) {
#ifdef AGENTBOX_SANITIZED
  for (const char* option : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS"}) {
    if (const char* value = std::getenv(option); value != nullptr) {
      plan.environment.push_back(std::string(option) + "=" + value);
    }
  }
#endif
}

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
  SpawnPlan plan;
  plan.exe = "/proc/self/exe";
  plan.argv = {"agentbox-provision", "supervise", name.text()};
  plan.environment = {"AGENTBOX_STATE_DIR=" + state_root, "PATH=/usr/local/bin:/usr/bin:/bin"};
  pass_sanitizer_options(plan);
  plan.descriptors = {{2, log.get()}};
  plan.new_session = true;
  return spawn(plan);
}

Status stop_supervisor(const BoxPaths& paths) {
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    AB_TRY(running, find_supervisor(paths));
    if (!running) {
      return {};
    }
    if (running->note) {
      ::syscall(SYS_pidfd_send_signal, running->pidfd.get(), SIGTERM, nullptr, 0);
      if (!wait_readable(running->pidfd.get(), start + kStopTime)) {
        // Its children die with it.
        ::syscall(SYS_pidfd_send_signal, running->pidfd.get(), SIGKILL, nullptr, 0);
        static_cast<void>(wait_readable(running->pidfd.get(), start + kStopTime + kNoteTime));
      }
      AB_TRY(held, is_held(paths.supervisor_lock));
      return held ? Status{Error{Code::kTimeout, "the box's supervisor does not end"}} : Status{};
    }
    if (std::chrono::steady_clock::now() - start > kNoteTime) {
      return Error{Code::kSystem, "somebody holds " + paths.supervisor_lock +
                                      " and has not said who: end that process"};
    }
    ::poll(nullptr, 0, kNotePauseMs);  // nothing tells of the note but the note
  }
}

}  // namespace agentbox::provision
