// edge: see keeper.h.
#include "agentbox/keeper.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "agentbox/c_strings.h"
#include "agentbox/keeper_process.h"
#include "agentbox/process_tree.h"

namespace agentbox::mcp {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Strays are killed by SIGKILL alone; only one stuck in the kernel takes this long.
constexpr milliseconds kStrayTime{1000};

// Every signal blocked for one scope: what is forked within must not run our handlers.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;
  ~AllSignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

void send_request(int control, const KeeperRequest& request) {
  (void)::send(control, &request, sizeof(request), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

Keeper::Keeper(Keepers& owner, pid_t pid, UniqueFd control)
    : owner_(&owner), pid_(pid), control_(std::move(control)) {}

Keeper::Keeper(Keeper&& other) noexcept
    : owner_(other.owner_),
      pid_(std::exchange(other.pid_, -1)),
      control_(std::move(other.control_)) {}

Keeper::~Keeper() { end(kOrphanGrace); }

std::optional<KeeperReport> Keeper::receive() {
  KeeperReport report;
  ssize_t got = 0;
  do {
    got = ::recv(control_.get(), &report, sizeof(report), 0);
  } while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(sizeof(report))) {
    return std::nullopt;
  }
  return report;
}

void Keeper::stop(milliseconds grace) {
  send_request(control_.get(), {.kind = KeeperRequestKind::kStop,
                                .value = static_cast<std::int32_t>(grace.count())});
}

void Keeper::signal(int number, bool tree) {
  send_request(control_.get(), {.kind = KeeperRequestKind::kSignal, .value = number, .tree = tree});
}

void Keeper::count() { send_request(control_.get(), {.kind = KeeperRequestKind::kCount}); }

void Keeper::end(milliseconds grace) {
  if (pid_ < 0) {
    return;
  }
  stop(grace);
  control_.reset();
  int status = 0;
  if (!reap_child(pid_, steady_clock::now() + grace + kKeeperSlack, &status)) {
    ::kill(pid_, SIGKILL);
    (void)reap_child(pid_, steady_clock::now() + kStrayTime, &status);
  }
  owner_->forget(pid_);
  pid_ = -1;
  if (!WIFEXITED(status)) {
    owner_->kill_strays();  // a keeper that was killed left its tree to us
  }
}

Result<Keeper> Keepers::start(const CommandPlan& plan) {
  const std::vector<char*> programs = pointers_to(plan.programs);
  const std::vector<char*> argv = pointers_to(plan.argv);
  const std::vector<char*> environment = pointers_to(plan.environment);
  AB_TRY(ends, make_socketpair(SOCK_SEQPACKET));
  const KeeperJob job{.command = {.programs = programs.data(),
                                  .argv = argv.data(),
                                  .environment = environment.data(),
                                  .folder = plan.folder,
                                  .input = plan.input,
                                  .output = plan.output,
                                  .errors = plan.errors,
                                  .terminal = plan.terminal},
                      .control = ends.second.get()};
  const std::lock_guard lock(mutex_);
  if (pids_.size() >= kMaxKeepers) {
    return Error{Code::kLimit,
                 std::to_string(kMaxKeepers) + " commands of this session have live processes"};
  }
  pids_.reserve(pids_.size() + 1);
  pid_t pid = -1;
  {
    const AllSignalsBlocked blocked;
    pid = ::fork();
    if (pid == 0) {
      run_keeper(job);
    }
  }
  if (pid < 0) {
    return errno_error("fork");
  }
  pids_.push_back(pid);
  return Keeper(*this, pid, std::move(ends.first));
}

bool Keepers::kill_strays() {
  const std::lock_guard lock(mutex_);
  std::vector<pid_t> keep = pids_;
  keep.push_back(spared_);
  return kill_other_children(keep, steady_clock::now() + kStrayTime);
}

std::size_t Keepers::count() const {
  const std::lock_guard lock(mutex_);
  return pids_.size();
}

void Keepers::forget(pid_t pid) {
  const std::lock_guard lock(mutex_);
  std::erase(pids_, pid);
}

}  // namespace agentbox::mcp
