// edge: see supervise.h.
#include "provision/supervise.h"

#include <fcntl.h>
#include <linux/keyctl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include "base/defence.h"
#include "base/log.h"
#include "base/process.h"
#include "provision/account.h"
#include "provision/box_side.h"
#include "provision/child_watch.h"
#include "provision/host.h"
#include "provision/scope.h"
#include "provision/supervisor.h"
#include "provision/supervisor_note.h"

namespace agentbox::provision {
namespace {

using Clock = std::chrono::steady_clock;

/// A log of a side; past it the older half of what is kept goes.
constexpr off_t kMaxLogBytes = 8 << 20;
/// Logs grow slowly: looked at this often.
constexpr std::chrono::seconds kLogLook{30};
/// The door's socket is there this soon after its start; a box side that is earlier just tries
/// again.
constexpr std::chrono::milliseconds kDoorHead{50};
/// The door drains for 20 s by itself; past this it is ended.
constexpr std::chrono::seconds kDoorStop{25};
/// The box side ends when the door's link does.
constexpr std::chrono::seconds kBoxStop{5};
/// Between two looks for the last of what a side left behind: their ends take milliseconds.
constexpr int kOrphanPauseMs = 5;

// The box's lock for as long as this process lives: taken by whoever started it.
Answer<UniqueFd> take_over_lock(const std::string& path) {
  UniqueFd fd(kSupervisorLockFd);
  struct stat wanted {};
  struct stat given {};
  if (::stat(path.c_str(), &wanted) != 0 || ::fstat(fd.get(), &given) != 0 ||
      wanted.st_ino != given.st_ino || wanted.st_dev != given.st_dev ||
      ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return Failure{Exit::kUsage, "supervise is for create and resume to start", "use these"};
  }
  ::fcntl(fd.get(), F_SETFD, FD_CLOEXEC);
  return fd;
}

// A log that has grown too long is copied to PATH.1 and begun anew in place: writers have it open.
void bound_log(const std::string& path) {
  const UniqueFd log(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  struct stat info {};
  if (!log || ::fstat(log.get(), &info) != 0 || info.st_size <= kMaxLogBytes) {
    return;
  }
  auto text = read_fd_capped(log.get(), static_cast<std::size_t>(kMaxLogBytes) * 8);
  if (text.ok()) {
    const std::size_t keep = std::min<std::size_t>(text->size(), kMaxLogBytes);
    static_cast<void>(
        replace_file(path + ".1", std::string_view(*text).substr(text->size() - keep), 0600));
  }
  static_cast<void>(!::ftruncate(log.get(), 0));
}

// The operator's kernel keys are not the box's.
void leave_session_keyring() {
  ::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr, 0, 0, 0);
}

std::string words_for(const ExitStatus& end) {
  return (end.exited ? "exit code " : "signal ") + std::to_string(end.value);
}

// One of the two children over all its lives.
struct Side {
  std::string name;
  SpawnPlan plan;
  Child child;  ///< pid -1 while it is not running
  Backoff backoff;
  Moment next_start{};
  ChildNote note;

  [[nodiscard]] bool running() const { return child.pid > 0; }
};

class Supervision {
 public:
  Supervision(const BoxPaths& paths, Side door, Side box, UniqueFd signals, SupervisorNote note)
      : paths_(paths),
        door_(std::move(door)),
        box_(std::move(box)),
        signals_(std::move(signals)),
        note_(std::move(note)) {}

  Done run() {
    Moment look = Clock::now();
    while (!finished()) {
      const Moment now = Clock::now();
      if (now >= look) {
        bound_log(paths_.door_log);
        bound_log(paths_.box_log);
        look = now + kLogLook;
      }
      if (stop_by_) {
        press_on(now);
      } else {
        start_due(now);
      }
      wait(std::min(look, next_event()));
      static_cast<void>(reap_orphans());
    }
    // Only then is nothing of the box left, which is what whoever stops it wants to know.
    const Moment until = Clock::now() + kBoxStop;
    while (reap_orphans() && Clock::now() < until) {
      ::poll(nullptr, 0, kOrphanPauseMs);
    }
    ::unlink(paths_.supervisor_note.c_str());
    return {};
  }

 private:
  [[nodiscard]] bool finished() const { return stop_by_ && !door_.running() && !box_.running(); }

  void start_due(Moment now) {
    if (!door_.running() && now >= door_.next_start) {
      ::unlink(paths_.socket.c_str());  // a dead door's socket only misleads
      start(door_, now);
      box_.next_start = std::max(box_.next_start, now + kDoorHead);
    }
    if (!box_.running() && door_.running() && now >= box_.next_start) {
      start(box_, now);
    }
  }

  void start(Side& side, Moment now) {
    auto child = spawn(side.plan);
    side.backoff.started(now);
    if (child.ok()) {
      side.child = std::move(child).value();
      side.note.pid = side.child.pid;
      log::info(side.name + " started", {{"pid", std::to_string(side.child.pid)}});
    } else {
      side.next_start = side.backoff.ended(now);
      side.note.last_end = child.error().what;
      ++side.note.restarts;
      log::error(side.name + " cannot be started", {{"why", child.error().what}});
    }
    write_note();
  }

  // The end of a stop: each side gets its time, then it is ended.
  void press_on(Moment now) {
    if (now < *stop_by_) {
      return;
    }
    Side& side = door_.running() ? door_ : box_;
    log::warning(side.name + " does not end; killed");
    signal_side(side, SIGKILL);
    stop_by_ = now + kBoxStop;
  }

  static void signal_side(const Side& side, int number) {
    if (side.running()) {
      ::syscall(SYS_pidfd_send_signal, side.child.pidfd.get(), number, nullptr, 0);
    }
  }

  [[nodiscard]] Moment next_event() const {
    if (stop_by_) {
      return *stop_by_;
    }
    Moment next = Moment::max();
    if (!door_.running()) {
      next = door_.next_start;
    } else if (!box_.running()) {
      next = box_.next_start;
    }
    return next;
  }

  void wait(Moment until) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    std::array<pollfd, 3> entries = {{
        {.fd = signals_.get(), .events = POLLIN, .revents = 0},
        {.fd = door_.running() ? door_.child.pidfd.get() : -1, .events = POLLIN, .revents = 0},
        {.fd = box_.running() ? box_.child.pidfd.get() : -1, .events = POLLIN, .revents = 0},
    }};
    const auto ms = std::clamp<std::int64_t>(left.count(), 0, 3'600'000);
    if (::poll(entries.data(), entries.size(), static_cast<int>(ms)) <= 0) {
      return;
    }
    if (entries[0].revents != 0) {
      take_signal();
    }
    if (entries[1].revents != 0) {
      reap(door_);
    }
    if (entries[2].revents != 0) {
      reap(box_);
    }
  }

  void take_signal() {
    signalfd_siginfo info{};
    if (::read(signals_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info) ||
        stop_by_) {
      return;
    }
    log::info("stopping");
    stop_by_ = Clock::now() + (door_.running() ? kDoorStop : kBoxStop);
    // The door first: it finishes the calls that run, and its end ends the box side. Without a door
    // the box side has nobody to wait for.
    signal_side(door_.running() ? door_ : box_, SIGTERM);
  }

  void reap(Side& side) {
    const auto end = wait_for(side.child);
    const std::string words = end.ok() ? words_for(*end) : end.error().what;
    const Moment now = Clock::now();
    side.child = Child{};
    side.note.pid = 0;
    side.note.last_end = words;
    if (stop_by_) {
      log::info(side.name + " ended", {{"how", words}});
      stop_by_ = now + kBoxStop;
    } else {
      log::warning(side.name + " ended; it is started again", {{"how", words}});
      ++side.note.restarts;
      side.next_start = side.backoff.ended(now);
    }
    write_note();
  }

  // What a side left behind when it ended came to us, for we are a subreaper. True where some are
  // still there.
  [[nodiscard]] bool reap_orphans() const {
    for (;;) {
      siginfo_t info{};
      if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
        return false;
      }
      const pid_t pid = info.si_pid;
      if (pid == 0 || pid == door_.child.pid || pid == box_.child.pid) {
        return true;
      }
      ::waitpid(pid, nullptr, 0);
    }
  }

  void write_note() {
    note_.door = door_.note;
    note_.box = box_.note;
    if (auto written = replace_file(paths_.supervisor_note, render_note(note_), 0600);
        !written.ok()) {
      log::error("cannot write the note of the box's state", {{"why", written.error().what}});
    }
  }

  const BoxPaths& paths_;
  Side door_;
  Side box_;
  UniqueFd signals_;
  SupervisorNote note_;
  std::optional<Moment> stop_by_;
};

Result<UniqueFd> block_signals() {
  sigset_t wanted{};
  ::sigemptyset(&wanted);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    ::sigaddset(&wanted, number);
  }
  if (::sigprocmask(SIG_BLOCK, &wanted, nullptr) != 0) {
    return errno_error("signal mask");
  }
  ::sigdelset(&wanted, SIGHUP);  // blocked, and nothing: a terminal that goes away is no reason
  UniqueFd fd(::signalfd(-1, &wanted, SFD_CLOEXEC));
  return fd ? Result<UniqueFd>(std::move(fd)) : Result<UniqueFd>(errno_error("signalfd"));
}

SpawnPlan common_plan(int log) {
  SpawnPlan plan;
  plan.descriptors = {{2, log}};
  plan.new_session = true;
  plan.parent_death_signal = SIGKILL;
  pass_sanitizer_options(plan);
  return plan;
}

Side door_side(const BoxPaths& paths, const Accounts& accounts) {
  Side side;
  side.name = "door";
  side.plan = common_plan(STDERR_FILENO);
  side.plan.exe = paths.programs + "/agentbox-sshd";
  side.plan.argv = {"agentbox-sshd", "--config", paths.config};
  side.plan.identity = accounts.to_become(accounts.door);
  return side;
}

// Where bubblewrap needs its owner's rights they must not be taken from it.
bool is_setuid(const std::string& program) {
  struct stat info {};
  return ::stat(program.c_str(), &info) == 0 && (info.st_mode & S_ISUID) != 0;
}

Answer<Side> box_side(const BoxPaths& paths, const BoxRecord& record, const Accounts& accounts,
                      int log) {
  const std::string workspace =
      record.spec.workspace.empty() ? paths.workspace : record.spec.workspace;
  Side side;
  side.name = "box";
  side.plan = common_plan(log);
  if (record.spec.isolation == Isolation::kNone || !defended("wall")) {
    log::warning("the box runs without isolation");
    side.plan.argv = open_box_side(paths, workspace);
    side.plan.working_folder = workspace;
  } else {
    AB_TRY(host, find_host_facts());
    if (is_setuid(host.bubblewrap) || !leave_abstract_sockets()) {
      log::warning("this kernel cannot keep the box from abstract unix sockets of this machine");
    }
    side.plan.argv = isolated_box_side(host, paths, workspace, record.name.text());
  }
  side.plan.exe = side.plan.argv.front();
  side.plan.nice = kBoxNice;
  side.plan.identity = accounts.to_become(accounts.box);
  return side;
}

Answer<SupervisorNote> own_note() {
  AB_TRY(stat, read_file_capped("/proc/self/stat", 4096));
  AB_TRY(ticks, start_ticks_of(stat));
  SupervisorNote note;
  note.pid = ::getpid();
  note.start_ticks = ticks;
  return note;
}

}  // namespace

Done supervise(const Store& store, const BoxName& name) {
  const BoxPaths paths = store.paths(name);
  AB_TRY(lock, take_over_lock(paths.supervisor_lock));
  AB_TRY(note, own_note());
  AB_CHECK(replace_file(paths.supervisor_note, render_note(note), 0600));
  AB_TRY(signals, block_signals());
  leave_session_keyring();
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  AB_TRY(record, store.load_existing(name));
  AB_TRY(accounts, find_accounts());
  const UniqueFd box_log(
      ::open(paths.box_log.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!box_log) {
    return errno_error(paths.box_log);
  }
  AB_TRY(box, box_side(paths, record, accounts, box_log.get()));
  Supervision supervision(paths, door_side(paths, accounts), std::move(box), std::move(signals),
                          std::move(note));
  return supervision.run();
}

}  // namespace agentbox::provision
