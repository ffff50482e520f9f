// edge: see monitor.h. The listener: started, told, heard and replaced; and whom it lets in.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "sshd/listener.h"
#include "sshd/monitor.h"

namespace agentbox::sshd {
namespace {

using namespace std::chrono_literals;

constexpr auto kMaxRestartPause = 5s;
/// Records that a listener has not taken; one that leaves more does not work.
constexpr std::size_t kMaxUntold = 4096;

// The configuration as a descriptor: the listener must not read a file that has changed since.
Result<UniqueFd> memory_file(const std::string& text) {
  UniqueFd fd(::memfd_create("agentbox-sshd.yaml", MFD_CLOEXEC));
  if (!fd) {
    return errno_error("memfd");
  }
  AB_CHECK(write_all(fd.get(), text));
  if (::lseek(fd.get(), 0, SEEK_SET) != 0) {
    return errno_error("memfd");
  }
  return fd;
}

// The listener made the text with Peer::text().
Result<Address> address_of(const std::string& peer) {
  AB_TRY(parts, parse_host_port(peer));
  return Address::parse(parts.host);
}

}  // namespace

Status Monitor::start_listener() {
  AB_TRY(control, make_socketpair(SOCK_SEQPACKET));
  AB_CHECK(set_nonblocking(control.first.get(), true));
  AB_TRY(config, memory_file(config_text_));
  SpawnPlan plan;
  plan.exe = "/proc/self/exe";
  plan.argv = {"agentbox-sshd", "--listener"};
  if (config_.own_host_key) {  // which its text does not name
    plan.argv.insert(plan.argv.end(), {"--host-key", config_.host_key});
  }
  pass_sanitizer_options(plan);
  plan.descriptors = {{STDERR_FILENO, STDERR_FILENO},
                      {kControlFd, control.second.get()},
                      {kListenFd, port_.get()},
                      {kConfigFd, config.get()}};
  AB_TRY(child, spawn(plan));
  listener_ = std::move(child);
  ++listener_run_;
  forget_listener();
  control_ = std::move(control.first);
  return loop_.watch(control_.get(), [this] { read_listener(); });
}

void Monitor::forget_listener() {
  if (control_) {
    loop_.forget(control_.get());
    control_.reset();
  }
  untold_.clear();
}

void Monitor::listener_ended(ExitStatus how) {
  while (!stop_at_ && read_listener()) {  // above all which children are ours now
  }
  forget_listener();
  if (stop_at_) {
    return;
  }
  const bool failed = how.exited && how.value == static_cast<int>(ListenerExit::kFailed);
  if (failed && host_key_.empty()) {
    log::error("the door cannot start", {{"reason", "its listener cannot; see above"}});
    failed_ = true;
    return;
  }
  const bool crashed = !how.exited || failed;
  log::warning("the listener ended and is started again; sessions go on",
               {{"how", how.exited ? "exit" : "signal"}, {"status", std::to_string(how.value)}});
  restart_listener_at_ = Clock::now() + restart_pause_;
  restart_pause_ =
      crashed ? std::min<std::chrono::milliseconds>(restart_pause_ * 2 + 100ms, kMaxRestartPause)
              : 0ms;
}

bool Monitor::read_listener() {
  if (!control_) {
    return false;
  }
  auto received = receive_record(control_.get());
  if (!received.ok() && received.error().code == Code::kUnavailable) {
    return false;
  }
  if (!received.ok() || !received->has_value()) {
    forget_listener();  // its end is dealt with when it is reaped
    return false;
  }
  const record::Record& message = (*received)->record;
  if (const auto* listening = std::get_if<record::Listening>(&message)) {
    host_key_ = listening->host_key;
    restart_pause_ = std::chrono::milliseconds(0);
    if (listener_) {
      isolation_.saw("listener", listener_->pid);
      isolation_.keep();
    }
    audit(listen_event(address_, *listening, std::exchange(head_before_, std::nullopt)));
    tell_keys();
    log::info("listening", {{"address", address_}, {"host_key", listening->fingerprint}});
  } else if (const auto* accepted = std::get_if<record::Accepted>(&message)) {
    admit(*accepted);
  } else if (const auto* turned = std::get_if<record::TurnedAway>(&message)) {
    audit_stranger_limit(turned->peer, turned->reason);
  } else if (const auto* forked = std::get_if<record::Forked>(&message)) {
    if (const auto at = clients_.find(forked->connection); at != clients_.end()) {
      at->second.pid = forked->pid;
      note_isolation(at->second);
    }
  } else if (const auto* reaped = std::get_if<record::Reaped>(&message); reaped != nullptr) {
    if (reaped->how == record::End::kExited &&
        reaped->status == static_cast<int>(ChildExit::kSetupFailed)) {
      log::warning("a network child could not be set up",
                   {{"connection", std::to_string(reaped->connection)}});
    } else if (reaped->how == record::End::kSignalled && reaped->status != SIGKILL) {
      log::warning("a network child crashed", {{"connection", std::to_string(reaped->connection)},
                                               {"signal", std::to_string(reaped->status)}});
    }
  }
  return true;
}

// Every connection that was accepted gets an answer: the listener keeps only so many that wait for
// one.
void Monitor::admit(const record::Accepted& accepted) {
  // The one place more is for a key of role operator; see auth_tried().
  const bool full = clients_.size() > config_.limits.connections;
  if (full) {
    audit_stranger_limit(accepted.peer, "connections");
  }
  const Status taken = stop_at_ || full ? Status() : take_client(accepted);
  if (!taken.ok()) {
    audit_stranger_limit(accepted.peer, "no room for a connection: " + taken.error().what);
  }
  if (stop_at_ || full || !taken.ok()) {
    tell_listener(record::Channel{accepted.ticket, 0});
  }
}

Status Monitor::take_client(const record::Accepted& accepted) {
  AB_TRY(address, address_of(accepted.peer));
  AB_TRY(pair, make_socketpair(SOCK_SEQPACKET));
  AB_CHECK(set_nonblocking(pair.first.get(), true));
  const std::uint64_t id = next_connection_++;
  AB_CHECK(loop_.watch(pair.first.get(), [this, id] { read_client(id); }));
  Client client;
  client.facts = {id, accepted.peer, ""};
  client.address = address;
  client.since = Clock::now();
  client.listener_run = listener_run_;
  client.records = std::move(pair.first);
  audit_stranger(client, "connect", connect_event(client.facts));
  clients_.emplace(id, std::move(client));
  // If the listener is gone the other end closes here, and the client with it.
  tell_listener(record::Channel{accepted.ticket, id}, std::move(pair.second));
  return {};
}

// Never waits for it: a listener that is stopped, or busy telling us something, holds up nobody.
void Monitor::tell_listener(const record::Record& message, UniqueFd fd) {
  if (control_) {
    untold_.push_back({message, std::move(fd)});
    tell_listener_rest();
  }
}

void Monitor::tell_listener_rest() {
  while (!untold_.empty()) {
    Untold& next = untold_.front();
    const Status sent = next.fd ? send_record(control_.get(), next.message, {next.fd.get()})
                                : send_record(control_.get(), next.message);
    if (!sent.ok() && sent.error().code == Code::kUnavailable) {
      break;
    }
    if (!sent.ok() && next.fd) {
      next.fd.reset();  // descriptors can be short: without one the listener closes the connection
    } else {
      untold_.pop_front();
    }
  }
  if (untold_.size() > kMaxUntold && listener_) {
    log::error("the listener takes no records and is killed");
    untold_.clear();
    ::kill(listener_->pid, SIGKILL);
  }
}

void Monitor::kill_client(const Client& client) {
  if (control_ && client.listener_run == listener_run_) {
    tell_listener(record::Kill{client.facts.id});
  } else if (client.pid > 0) {
    ::kill(client.pid, SIGKILL);  // its listener died, so it is our child: the pid is nobody else's
  }
}

}  // namespace agentbox::sshd
