// edge: see listener.h.
#include "sshd/listener.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "base/defence.h"
#include "base/event_loop.h"
#include "base/log.h"
#include "base/process.h"
#include "base/record_io.h"
#include "base/text.h"
#include "sshd/admission.h"
#include "sshd/connection.h"
#include "sshd/isolation_file.h"
#include "sshd/key_store.h"
#include "sshd/lockdown.h"
#include "sshd/state_folder.h"

namespace agentbox::sshd {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kAbnormalDeathsBeforeFreshStart = 3;
/// Connections that wait for the monitor's answer; it takes microseconds.
constexpr std::size_t kMaxPending = 64;
/// Where there is no descriptor or memory for a connection it is tried again after this.
constexpr auto kAcceptPause = std::chrono::milliseconds(500);
/// A peer that acknowledges nothing for this long is gone.
constexpr unsigned kUserTimeoutMs = 180'000;

void tune_socket(int fd) {
  const int on = 1;
  // Without it a reply waits for the delayed acknowledgement of the last one: 40 ms a call.
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUserTimeoutMs, sizeof kUserTimeoutMs);
}

// Whoever calls us from our own address, or from a loopback one, runs on this machine.
Origin origin_of(int fd, const Address& peer) {
  sockaddr_storage here{};
  socklen_t length = sizeof here;
  if (peer.is_loopback() || ::getsockname(fd, reinterpret_cast<sockaddr*>(&here), &length) != 0) {
    return Origin::kThisMachine;
  }
  const auto own = Address::from_socket(here);
  return own.ok() && *own == peer ? Origin::kThisMachine : Origin::kElsewhere;
}

void close_all_but(int one, int other) {
  const auto low = static_cast<unsigned>(std::min(one, other));
  const auto high = static_cast<unsigned>(std::max(one, other));
  const auto close_range = [](unsigned first, unsigned last) {
    if (first <= last) {
      ::syscall(SYS_close_range, first, last, 0U);
    }
  };
  close_range(3, low - 1);
  close_range(low + 1, high - 1);
  close_range(high + 1, ~0U);
}

class Listener {
 public:
  Listener(const Config& config, UniqueFd control, UniqueFd listening, EventLoop loop, SshBind bind)
      : config_(config),
        control_(std::move(control)),
        listening_(std::move(listening)),
        loop_(std::move(loop)),
        bind_(std::move(bind)),
        admission_(config.limits) {}

  ListenerExit run();

 private:
  struct Waiting {
    UniqueFd socket;
    Peer peer;
    Origin origin = Origin::kElsewhere;
  };
  struct Child {
    std::uint64_t connection = 0;
  };

  Status watch_signals();
  void accept_one();
  void read_control();
  void give_channel(const record::Channel& channel, std::vector<UniqueFd> fds);
  void start_child(Waiting waiting, std::uint64_t connection, UniqueFd monitor);
  [[noreturn]] void be_child(Waiting waiting, UniqueFd monitor);
  void read_signals();
  void reap();
  void kill_child(std::uint64_t connection);
  void tell(const record::Record& record);

  const Config& config_;
  UniqueFd control_;
  UniqueFd listening_;
  EventLoop loop_;
  SshBind bind_;
  Admission admission_;
  UniqueFd signals_;
  std::map<std::uint64_t, Waiting> waiting_;
  std::map<pid_t, Child> children_;
  std::uint64_t next_ticket_ = 1;
  int abnormal_deaths_ = 0;
  bool done_ = false;
  /// For lack of descriptors or memory none is accepted until then.
  Clock::time_point accept_again_at_ = Clock::time_point::max();
};

Status Listener::watch_signals() {
  sigset_t set{};
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGCHLD);
  ::sigaddset(&set, SIGTERM);
  ::sigaddset(&set, SIGINT);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_ = UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) {
    return errno_error("signalfd");
  }
  return loop_.watch(signals_.get(), [this] { read_signals(); });
}

ListenerExit Listener::run() {
  const Status watching = [&]() -> Status {
    AB_CHECK(watch_signals());
    AB_CHECK(set_nonblocking(listening_.get(), true));
    AB_CHECK(loop_.watch(control_.get(), [this] { read_control(); }));
    return loop_.watch(listening_.get(), [this] { accept_one(); });
  }();
  if (!watching.ok()) {
    log::error("cannot listen", {{"reason", watching.error().what}});
    return ListenerExit::kFailed;
  }
  while (!done_) {
    if (abnormal_deaths_ >= kAbnormalDeathsBeforeFreshStart) {
      log::warning("several connections crashed: starting the listener afresh");
      return ListenerExit::kFreshLayout;
    }
    if (const Status turned = loop_.turn(accept_again_at_); !turned.ok()) {
      log::error("event loop", {{"reason", turned.error().what}});
      return ListenerExit::kFailed;
    }
    if (Clock::now() >= accept_again_at_) {
      accept_again_at_ = Clock::time_point::max();
      loop_.resume(listening_.get());
    }
  }
  return ListenerExit::kDone;
}

void Listener::accept_one() {
  if (waiting_.size() >= kMaxPending) {
    loop_.pause(listening_.get());  // the kernel keeps the others until give_channel()
    return;
  }
  sockaddr_storage from{};
  socklen_t length = sizeof from;
  UniqueFd socket(
      ::accept4(listening_.get(), reinterpret_cast<sockaddr*>(&from), &length, SOCK_CLOEXEC));
  if (!socket) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      log::error("no connection can be taken", {{"reason", errno_error("accept").what}});
      loop_.pause(listening_.get());  // else it would be told of again at once, and for ever
      accept_again_at_ = Clock::now() + kAcceptPause;
    }
    return;  // else the client left first
  }
  const auto address = Address::from_socket(from);
  if (!address.ok()) {
    return;
  }
  in_port_t port = 0;
  if (from.ss_family == AF_INET) {
    std::memcpy(&port, &reinterpret_cast<const sockaddr_in*>(&from)->sin_port, sizeof port);
  } else {
    std::memcpy(&port, &reinterpret_cast<const sockaddr_in6*>(&from)->sin6_port, sizeof port);
  }
  const Peer peer{*address, ntohs(port)};
  const Origin origin = origin_of(socket.get(), *address);
  if (!admission_.admit(origin).admitted) {
    tell(record::TurnedAway{peer.text(), "every place is taken by a connection that logged in"});
    return;
  }
  tune_socket(socket.get());
  const std::uint64_t ticket = next_ticket_++;
  waiting_.emplace(ticket, Waiting{std::move(socket), peer, origin});
  tell(record::Accepted{ticket, peer.text()});
}

void Listener::read_control() {
  auto received = receive_record(control_.get());
  if (!received.ok() || !received->has_value()) {
    done_ = true;
    return;
  }
  auto& message = **received;
  if (const auto* channel = std::get_if<record::Channel>(&message.record)) {
    give_channel(*channel, std::move(message.fds));
  } else if (const auto* logged_in = std::get_if<record::LoggedIn>(&message.record)) {
    admission_.logged_in(logged_in->connection);
  } else if (const auto* kill = std::get_if<record::Kill>(&message.record)) {
    kill_child(kill->connection);
  }
}

void Listener::give_channel(const record::Channel& channel, std::vector<UniqueFd> fds) {
  auto node = waiting_.extract(channel.ticket);
  loop_.resume(listening_.get());
  if (node.empty() || fds.size() != 1) {
    return;
  }
  // Asked again, for those that were let in meanwhile: who stays is decided where the count is.
  const auto verdict = admission_.admit(node.mapped().origin);
  if (verdict.displaced) {
    tell(record::TurnedAway{node.mapped().peer.text(),
                            "places are full: the oldest connection without a login ends"});
    kill_child(*verdict.displaced);
    admission_.closed(*verdict.displaced);
  }
  if (verdict.admitted) {
    start_child(std::move(node.mapped()), channel.connection, std::move(fds.front()));
  }
}

void Listener::start_child(Waiting waiting, std::uint64_t connection, UniqueFd monitor) {
  const pid_t pid = ::fork();
  if (pid < 0) {
    log::error("no process for a connection", {{"reason", errno_error("fork").what}});
    return;
  }
  if (pid == 0) {
    be_child(std::move(waiting), std::move(monitor));
  }
  children_[pid] = Child{connection};
  admission_.opened(connection, waiting.origin);
  tell(record::Forked{connection, pid});
}

// Who may enter; nobody where the keys cannot be used, or are older than ones that were in force.
KeySet keys_in_force(const Config& config) {
  // In this order: what becomes the highest meanwhile does not make what is read here older. The
  // monitor has the last word.
  const auto highest = read_generation(config.state_dir);
  auto loaded = load_keys(config.keys_dir, config.keys_trust);
  const bool usable = loaded.ok() && highest.ok() && !goes_back(loaded->keys.generation, *highest);
  return usable ? std::move(loaded->keys) : KeySet{};
}

void Listener::be_child(Waiting waiting, UniqueFd monitor) {
  if (defended("closed-descriptors")) {
    close_all_but(waiting.socket.get(), monitor.get());
  }
  sigset_t none{};
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::prctl(PR_SET_NAME, "agentbox-net");
  KeySet keys = keys_in_force(config_);
  UniqueFd socket(::fcntl(waiting.socket.get(), F_DUPFD_CLOEXEC, 3));
  const int accepted = waiting.socket.get();
  auto session = accept_session(bind_.get(), std::move(waiting.socket));
  const record::Isolated held{own_descriptors({accepted, socket.get()}, monitor.get())};
  const Status locked = lock_network_child();
  // Sent once it is locked, so that whoever gets it can read how it is locked.
  const Status told = send_record(monitor.get(), held);
  if (!session.ok() || !locked.ok() || !told.ok()) {
    // Unlocked it must not read a byte.
    ::_exit(static_cast<int>(ChildExit::kSetupFailed));
  }
  ChildExit code = ChildExit::kSetupFailed;
  {
    Connection connection({std::move(session).value(), std::move(socket), std::move(monitor),
                           std::move(keys), waiting.peer, config_.limits});
    code = connection.run();
  }
  ::_exit(static_cast<int>(code));
}

void Listener::read_signals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    done_ = done_ || info.ssi_signo != SIGCHLD;
  }
  reap();
}

void Listener::reap() {
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    auto node = children_.extract(pid);
    if (node.empty()) {
      continue;
    }
    const ExitStatus end = exit_status_of(status);
    // Killed by us or an operator is no sign of an attack; any other signal may be one.
    abnormal_deaths_ += !end.exited && end.value != SIGKILL && end.value != SIGTERM ? 1 : 0;
    admission_.closed(node.mapped().connection);
    tell(record::Reaped{node.mapped().connection,
                        end.exited ? record::End::kExited : record::End::kSignalled, end.value});
  }
}

void Listener::kill_child(std::uint64_t connection) {
  for (const auto& [pid, child] : children_) {
    if (child.connection == connection) {
      ::kill(pid, SIGKILL);  // still ours: a pid is free for others only after reap()
    }
  }
}

void Listener::tell(const record::Record& record) {
  if (const Status sent = send_record(control_.get(), record); !sent.ok()) {
    done_ = true;
  }
}

Result<Listener> make_listener(const Config& config, UniqueFd control, UniqueFd listening) {
  AB_TRY(key, load_host_key(config.host_key));
  AB_TRY(fingerprint, fingerprint_of(key.get()));
  AB_TRY(text, public_text_of(key.get()));
  AB_TRY(bind, make_bind(std::move(key)));
  AB_TRY(loop, EventLoop::make());
  AB_CHECK(send_record(control.get(), record::Listening{text, fingerprint}));
  return Listener(config, std::move(control), std::move(listening), std::move(loop),
                  std::move(bind));
}

}  // namespace

ListenerExit run_listener(const Config& config, UniqueFd control, UniqueFd listening) {
  ::signal(SIGPIPE, SIG_IGN);
  if (const Status hidden = forbid_inspection(); !hidden.ok()) {
    log::error("cannot hide from other processes", {{"reason", hidden.error().what}});
    return ListenerExit::kFailed;
  }
  auto listener = make_listener(config, std::move(control), std::move(listening));
  if (!listener.ok()) {
    log::error("the listener cannot start", {{"reason", listener.error().what}});
    return ListenerExit::kFailed;
  }
  return listener->run();
}

}  // namespace agentbox::sshd
