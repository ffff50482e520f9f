// edge: see spawner.h.
#include "agentbox/spawner.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "agentbox/job_host.h"
#include "agentbox/leftovers.h"
#include "agentbox/process_tree.h"
#include "agentbox/transaction.h"
#include "agentbox/workspace.h"
#include "base/deadline.h"
#include "base/handle.h"
#include "base/process.h"
#include "base/record_io.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// sysexits.h: EX_USAGE, EX_UNAVAILABLE, EX_OSERR.
constexpr int kUsage = 64;
constexpr int kNoDoor = 69;
constexpr int kSystem = 71;
// Killing by SIGKILL takes longer only where a process is stuck in the kernel.
constexpr seconds kKillTime{2};
// A stray that is not dead after this is looked at again a little later: nothing else waits longer.
constexpr milliseconds kSweepTime{50};
constexpr milliseconds kSweepPause{10};
// At the very end: what a job may still do between SIGTERM and SIGKILL.
constexpr milliseconds kLastGrace{1000};
// Less likely to be chosen when memory runs out than what it starts (range -1000 to 1000).
constexpr std::string_view kOomScore = "-250";

constexpr std::string_view kHelp =
    "Usage: agent-box spawner --link SOCKET [--workspace DIR] [--home DIR] [--tmp DIR] [--out "
    "DIR]\n"
    "\n"
    "Dials the door's SOCKET once and starts one agent-box for each session it announces. Empties\n"
    "the folders of --tmp and --out first. When the link ends, everything it started is killed.\n"
    "Defaults: /workspace, /home/agent, /tmp, /run/agentbox-out.\n"
    "Exit codes: 0 the link ended or SIGTERM came; 64 usage; 69 no door; 71 the system refused.\n";

void complain(std::string_view what) {
  static_cast<void>(std::fprintf(stderr, "agent-box spawner: %.*s\n", static_cast<int>(what.size()),
                                 what.data()));
}

// Waits until a signal that ends us comes (true) or TIME passes.
bool wait_for_stop(int signals, milliseconds time) {
  if (!wait_readable(signals, steady_clock::now() + time)) {
    return false;
  }
  signalfd_siginfo info{};
  return ::read(signals, &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info)) &&
         info.ssi_signo != static_cast<unsigned>(SIGCHLD);
}

Result<UniqueFd> dial(const std::string& path, int signals) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.size() >= sizeof(name.sun_path)) {
    return Error{Code::kInvalid, "the socket's path has more than 107 bytes: " + path};
  }
  path.copy(name.sun_path, path.size());
  const auto deadline = steady_clock::now() + kDialTime;
  for (;;) {
    UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (fd.valid() &&
        ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0) {
      return fd;
    }
    const int number = errno;
    const bool may_come =
        number == ENOENT || number == ECONNREFUSED || number == EAGAIN || number == EINTR;
    if (!may_come || steady_clock::now() >= deadline) {
      return errno_error("connect to " + path, number);
    }
    if (wait_for_stop(signals, kDialInterval)) {
      return Error{Code::kUnavailable, "stopped before the door was there"};
    }
  }
}

// One life of the spawner: the link, the signals, and the sessions by process id.
class Spawner {
 public:
  Spawner(SpawnerOptions options, UniqueFd link, UniqueFd signals, UniqueFd out)
      : options_(std::move(options)),
        link_(std::move(link)),
        signals_(std::move(signals)),
        jobs_(std::move(out), complain) {}

  Status greet() const {
    return send_record(link_.get(), record::Ready{.version = AGENTBOX_VERSION});
  }
  /// SWEEPER: a process of ours that is no session and no stray.
  int run(pid_t sweeper);

 private:
  void turn();
  void end_everything();
  void read_signals();
  void reap();
  void kill_strays();
  // False where the link has ended.
  [[nodiscard]] bool read_link();
  void start(record::Start start, std::vector<UniqueFd> fds);
  void kill_session(const std::string& session);
  void drain(seconds time);
  void tell_ended(const std::string& session, record::End how, int status);
  [[nodiscard]] int next_wait_ms() const;

  SpawnerOptions options_;
  UniqueFd link_;
  UniqueFd signals_;
  std::map<pid_t, std::string> sessions_;
  JobHost jobs_;
  pid_t sweeper_ = -1;
  bool linked_ = true;
  bool straying_ = false;  // strays were still there a moment ago
  bool draining_ = false;
  bool told_to_stop_ = false;
  std::optional<steady_clock::time_point> kill_at_;
};

int Spawner::run(pid_t sweeper) {
  sweeper_ = sweeper;
  while (linked_ && !(told_to_stop_ && sessions_.empty())) {
    turn();
  }
  end_everything();
  return 0;
}

void Spawner::turn() {
  std::vector<pollfd> ready = {{.fd = signals_.get(), .events = POLLIN, .revents = 0},
                               {.fd = link_.get(), .events = POLLIN, .revents = 0}};
  const std::size_t ours = ready.size();
  jobs_.poll_into(ready);
  (void)::poll(ready.data(), ready.size(), next_wait_ms());
  if (ready[0].revents != 0) {
    read_signals();
  } else if (straying_) {
    kill_strays();
  }
  jobs_.take(std::span(ready).subspan(ours));
  if (ready[1].revents != 0) {
    linked_ = read_link();
  }
  const auto now = steady_clock::now();
  jobs_.pass_deadlines(now);
  if (kill_at_ && now >= *kill_at_) {
    kill_at_.reset();
    for (const auto& [pid, session] : sessions_) {
      ::kill(pid, SIGKILL);
    }
  }
}

// Sessions at once, for nobody hears them any more; a job may still put its house in order.
void Spawner::end_everything() {
  link_.reset();
  for (const auto& [pid, session] : sessions_) {
    ::kill(pid, SIGKILL);
  }
  jobs_.end_all(kLastGrace, "the end of the box");
  const auto end = steady_clock::now() + kLastGrace + kKillTime;
  while (!jobs_.empty() && steady_clock::now() < end) {
    turn();
  }
  if (!kill_other_children({}, steady_clock::now() + kKillTime)) {
    complain("a process could not be killed; it is stuck in the kernel");
  }
}

int Spawner::next_wait_ms() const {
  const auto now = steady_clock::now();
  int wait = straying_ ? static_cast<int>(kSweepPause.count()) : -1;
  for (const auto& deadline : {kill_at_, jobs_.deadline()}) {
    if (deadline) {
      const int left = poll_timeout(*deadline, now);
      wait = wait < 0 ? left : std::min(wait, left);
    }
  }
  return wait;
}

void Spawner::read_signals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
    if (info.ssi_signo != static_cast<unsigned>(SIGCHLD)) {
      told_to_stop_ = true;
      drain(kSpawnerStopTime);
    }
  }
  reap();
}

void Spawner::reap() {
  bool lost_any = false;
  for (;;) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid <= 0) {
      break;
    }
    lost_any = true;  // what it guarded, or other orphans, may have come to us
    sweeper_ = pid == sweeper_ ? -1 : sweeper_;
    const auto session = sessions_.find(pid);
    if (session == sessions_.end()) {
      (void)jobs_.reaped(pid);
      continue;
    }
    const std::string name = std::move(session->second);
    sessions_.erase(session);
    const ExitStatus end = exit_status_of(status);
    tell_ended(name, end.exited ? record::End::kExited : record::End::kSignalled, end.value);
  }
  if (lost_any) {
    kill_strays();
  }
}

// A session takes its commands along, and a keeper its job; what is ours all the same was orphaned
// when one of them was killed.
void Spawner::kill_strays() {
  std::vector<pid_t> keep = {sweeper_};
  for (const auto& [pid, session] : sessions_) {
    keep.push_back(pid);
  }
  jobs_.append_keepers(keep);
  straying_ = !kill_other_children(keep, steady_clock::now() + kSweepTime);
}

bool Spawner::read_link() {
  auto received = receive_record(link_.get());
  if (!received.ok()) {
    complain("the link broke: " + received.error().what);
    return false;
  }
  if (!received->has_value()) {
    return false;
  }
  Received& message = **received;
  if (auto* wanted = std::get_if<record::Start>(&message.record)) {
    start(std::move(*wanted), std::move(message.fds));
  } else if (const auto* stop = std::get_if<record::Drain>(&message.record)) {
    drain(seconds(stop->seconds));
  } else if (const auto* lost = std::get_if<record::EndJobs>(&message.record)) {
    jobs_.end_of_key(lost->key);
  } else if (const auto* end = std::get_if<record::EndSession>(&message.record)) {
    kill_session(end->session);
  } else {
    complain("the door sent a record that is not for a spawner");
  }
  return true;
}

void Spawner::start(record::Start wanted, std::vector<UniqueFd> fds) {
  const auto environment = session_environment(options_, wanted);
  if (!environment.ok() || fds.size() != kMaxRecordFds || draining_) {
    complain("session " + wanted.session + " is not started: " +
             (draining_          ? std::string("no new sessions are taken any more")
              : environment.ok() ? std::string("three descriptors were expected")
                                 : environment.error().what));
    tell_ended(wanted.session, record::End::kLost, EINVAL);
    return;
  }
  const auto jobs = jobs_.admit(wanted.session, wanted.key);
  if (!jobs.ok()) {
    complain("session " + wanted.session + " can start no jobs: " + jobs.error().what);
    tell_ended(wanted.session, record::End::kLost, jobs.error().os_errno);
    return;
  }
  const SpawnPlan plan{.exe = "/proc/self/exe",
                       .argv = {"agent-box"},
                       .environment = *environment,
                       .working_folder = "/",
                       .descriptors = {{.in_child = 0, .source = fds[0].get()},
                                       {.in_child = 1, .source = fds[0].get()},
                                       {.in_child = 2, .source = fds[1].get()},
                                       {.in_child = kRecordsFd, .source = fds[2].get()},
                                       {.in_child = kJobsFd, .source = jobs->get()}},
                       .new_session = true,
                       .parent_death_signal = SIGKILL,
                       .nice = 0,
                       .identity = std::nullopt};
  const auto child = spawn(plan);
  if (!child.ok()) {
    complain("session " + wanted.session + " could not be started: " + child.error().what);
    tell_ended(wanted.session, record::End::kLost, child.error().os_errno);
    return;
  }
  sessions_.emplace(child->pid, std::move(wanted.session));
}

void Spawner::kill_session(const std::string& session) {
  for (const auto& [pid, name] : sessions_) {
    if (name == session) {
      ::kill(pid, SIGKILL);  // what it leaves is swept up when it is reaped
    }
  }
}

void Spawner::drain(seconds time) {
  draining_ = true;
  for (const auto& [pid, session] : sessions_) {
    ::kill(pid, SIGTERM);
  }
  const auto kill_at = steady_clock::now() + time;
  kill_at_ = kill_at_ ? std::min(*kill_at_, kill_at) : kill_at;
}

void Spawner::tell_ended(const std::string& session, record::End how, int status) {
  if (!link_.valid()) {
    return;  // the door is gone, and knows
  }
  const auto sent =
      send_record(link_.get(), record::Ended{.session = session, .how = how, .status = status});
  if (!sent.ok()) {
    complain("the door was not told that session " + session + " ended: " + sent.error().what);
  }
}

void empty(const std::string& path) {
  const UniqueFd folder(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) {
    complain(path + " is not there and was not emptied");
  } else if (const std::size_t left = empty_folder(folder.get()); left > 0) {
    complain(std::to_string(left) + " names in " + path + " could not be removed");
  }
}

// What a change of several files needs to be taken back lies in OUT.
void end_changes(const std::string& workspace, const std::string& out) {
  const auto opened = Workspace::open({.workspace = workspace, .output = {}});
  const std::string words = opened.ok() ? recover_changes(**opened, out) : std::string();
  if (!words.empty()) {
    complain(words);
  }
}

// Looks through the whole workspace, which may take long: in a process of its own, which nobody
// waits for. Returns that process, -1 where there is none.
pid_t remove_temporaries_aside(const std::string& workspace) {
  const time_t before = ::time(nullptr);
  const pid_t pid = ::fork();
  if (pid != 0) {
    return pid;
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::syscall(SYS_close_range, 3U, ~0U, 0);  // above all the link, whose end must be seen
  const UniqueFd folder(::open(workspace.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  remove_temporaries(folder.get(), before);
  ::_exit(0);
}

Result<UniqueFd> claim_signals() {
  sigset_t ours;
  ::sigemptyset(&ours);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) {
    ::sigaddset(&ours, number);
  }
  if (::sigprocmask(SIG_BLOCK, &ours, nullptr) != 0 || std::signal(SIGPIPE, SIG_IGN) == SIG_ERR) {
    return errno_error("block signals");
  }
  UniqueFd fd(::signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) {
    return errno_error("signalfd");
  }
  return fd;
}

}  // namespace

int run_spawner(std::span<char*> arguments) {
  if (!arguments.empty() && std::string_view(arguments[0]) == "--help") {
    static_cast<void>(std::fwrite(kHelp.data(), 1, kHelp.size(), stdout));
    return 0;
  }
  auto options = parse_spawner_options(arguments);
  if (!options.ok()) {
    complain(options.error().what);
    return kUsage;
  }
  set_oom_score(::getpid(), kOomScore);
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
    complain(errno_error("prctl").what);
    return kSystem;
  }
  end_changes(options->workspace, options->out);
  empty(options->tmp);
  empty(options->out);
  auto signals = claim_signals();
  if (!signals.ok()) {
    complain(signals.error().what);
    return kSystem;
  }
  auto link = dial(options->link, signals->get());
  if (!link.ok()) {
    complain(link.error().what);
    return link.error().code == Code::kUnavailable ? 0 : kNoDoor;
  }
  const std::string workspace = options->workspace;
  UniqueFd out(::open(options->out.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  Spawner spawner(std::move(*options), std::move(*link), std::move(*signals), std::move(out));
  if (const auto greeted = spawner.greet(); !greeted.ok()) {
    complain(greeted.error().what);
    return kNoDoor;
  }
  return spawner.run(remove_temporaries_aside(workspace));
}

}  // namespace agentbox::mcp
