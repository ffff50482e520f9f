// edge: see monitor.h. Starting, stopping, the keys and the listener; sessions are in
// monitor_sessions.cc.
#include "sshd/monitor.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "base/defence.h"
#include "base/log.h"
#include "base/text.h"
#include "sshd/config_file.h"
#include "sshd/listener.h"
#include "sshd/lockdown.h"

namespace agentbox::sshd {
namespace {

using namespace std::chrono_literals;

/// Everything with a date is looked at this often.
constexpr auto kTick = 1s;
/// While sessions neither end nor the door stops the log gets the head at least this often.
constexpr std::uint64_t kLinesPerHead = 256;
/// A pod of a pool may wait for days, and probes write lines all the time. Its host key is known
/// from its log alone, of which only the newest part is kept: it is told again this often.
constexpr std::uint64_t kLinesPerKeys = 1000;
/// A sink that took nothing is tried again this often: replies wait for it.
constexpr auto kSinkRetry = 50ms;
/// And so is a listener that is behind.
constexpr auto kListenerRetry = 50ms;
/// A listener that could not be started, for lack of processes or memory, is tried again.
constexpr auto kStartRetry = 1s;
/// A connection that was told to end has this long.
constexpr auto kHangUpGrace = 2s;
/// The network child enforces the login grace itself; this is for one that cannot.
constexpr auto kGraceSlack = 5s;
constexpr int kBacklog = 512;

Result<UniqueFd> listen_on(const Address& address, std::uint16_t port) {
  sockaddr_storage storage{};
  socklen_t length = 0;
  if (address.is_v4()) {
    auto* v4 = reinterpret_cast<sockaddr_in*>(&storage);
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    ::inet_pton(AF_INET, address.text().c_str(), &v4->sin_addr);
    length = sizeof *v4;
  } else {
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&storage);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    ::inet_pton(AF_INET6, address.text().c_str(), &v6->sin6_addr);
    length = sizeof *v6;
  }
  UniqueFd fd(::socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) {
    return errno_error("socket");
  }
  const int on = 1;
  const int off = 0;
  // No SO_REUSEPORT: with it another process of this user could take a share of the port.
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (!address.is_v4()) {
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  const std::string where = Peer{address, port}.text();
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&storage), length) != 0 ||
      ::listen(fd.get(), kBacklog) != 0) {
    return errno_error("listen on " + where);
  }
  return fd;
}

std::uint16_t port_of(int fd) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &length);
  in_port_t port = 0;  // at the same place in both families
  std::memcpy(&port, reinterpret_cast<const char*>(&storage) + offsetof(sockaddr_in, sin_port),
              sizeof port);
  return ntohs(port);
}

Result<std::vector<std::string>> environment_to_pass(const std::vector<std::string>& names) {
  std::vector<std::string> pairs;
  for (const std::string& name : names) {
    // The process has one thread, and nothing here changes the environment.
    const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe)
    if (value == nullptr) {
      log::warning("pass_env names a variable that is not set", {{"name", name}});
      continue;
    }
    std::string pair = name + '=' + value;
    if (escape_text(pair).size() > record::kMaxTextBytes) {
      return Error{Code::kLimit, "pass_env: " + name + " is longer than " +
                                     std::to_string(record::kMaxTextBytes) + " bytes"};
    }
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

std::string older_reason(const LoadedKeys& loaded, std::uint64_t highest) {
  return "generation " + std::to_string(loaded.keys.generation) + " is older than " +
         std::to_string(highest) + ", which was in force";
}

}  // namespace

Result<Monitor> Monitor::make(std::string config_path, Config config, std::string config_text) {
  AB_TRY(loop, EventLoop::make());
  auto head = HeadFile::open(config.state_dir);
  auto generation = GenerationFile::open(config.state_dir);
  for (const Error* problem :
       {head.ok() ? nullptr : &head.error(), generation.ok() ? nullptr : &generation.error()}) {
    if (problem != nullptr) {
      return Error(*problem).in("state_dir");
    }
  }
  AB_TRY(sink, AuditSink::open(config.audit_sink, std::move(head).value()));
  return Monitor(std::move(config_path), std::move(config), std::move(config_text), std::move(loop),
                 std::move(generation).value(), std::move(sink));
}

int Monitor::run() {
  ::signal(SIGPIPE, SIG_IGN);
  if (const Status started = start(); !started.ok()) {
    log::error("the door cannot start", {{"reason", started.error().what}});
    return 1;
  }
  auto next_tick = Clock::now() + kTick;
  while (!failed_ && !stopped()) {
    const auto sink_retry = audit_.blocked() ? Clock::now() + kSinkRetry : next_tick;
    const auto listener_retry = untold_.empty() ? next_tick : Clock::now() + kListenerRetry;
    const auto deadline = std::min({next_tick, restart_listener_at_, sink_retry, listener_retry});
    if (const Status turned = loop_.turn(deadline); !turned.ok()) {
      log::error("event loop", {{"reason", turned.error().what}});
      return 1;
    }
    audit_.flush();
    resume_sessions();
    tell_listener_rest();
    if (Clock::now() >= restart_listener_at_) {
      restart_listener_at_ = Clock::time_point::max();
      if (const Status started = start_listener(); !started.ok()) {
        log::error("the listener cannot start", {{"reason", started.error().what}});
        restart_listener_at_ = Clock::now() + kStartRetry;
      }
    }
    if (Clock::now() >= next_tick) {
      next_tick = Clock::now() + kTick;
      tick();
    }
  }
  audit_summary();
  tell_head();
  audit_.sync_head();
  ::unlink(config_.link_socket.c_str());
  log::info("stopped");
  return failed_ ? 1 : 0;
}

Status Monitor::start() {
  AB_CHECK(forbid_inspection());
  AB_CHECK(allow_descriptors());
  isolation_.saw("monitor", ::getpid());
  // Network children outlive a listener that dies; they are then ours.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  AB_TRY(passed, environment_to_pass(config_.pass_env));
  passed_environment_ = std::move(passed);
  AB_CHECK(load_keys_first());
  AB_CHECK(open_port());
  AB_CHECK(open_link());
  AB_CHECK(watch_signals());
  return start_listener();
}

Status Monitor::open_port() {
  AB_TRY(address, Address::parse(config_.listen_address));
  AB_TRY(fd, listen_on(address, config_.port));
  address_ = Peer{address, port_of(fd.get())}.text();
  port_ = std::move(fd);
  return {};
}

Status Monitor::open_link() {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (config_.link_socket.size() >= sizeof name.sun_path) {
    return Error{Code::kLimit,
                 "link.socket: longer than " + std::to_string(sizeof name.sun_path - 1) + " bytes"};
  }
  std::memcpy(name.sun_path, config_.link_socket.c_str(), config_.link_socket.size());
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) {
    return errno_error("socket");
  }
  ::unlink(config_.link_socket.c_str());
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0 ||
      // Who may dial is decided by the caller's uid, which the mode could not express.
      ::chmod(config_.link_socket.c_str(), 0666) != 0 || ::listen(fd.get(), 8) != 0) {
    return errno_error(config_.link_socket);
  }
  link_listener_ = std::move(fd);
  return loop_.watch(link_listener_.get(), [this] { accept_link(); });
}

Status Monitor::watch_signals() {
  sigset_t set{};
  ::sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) {
    ::sigaddset(&set, signal);
  }
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_ = UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) {
    return errno_error("signalfd");
  }
  return loop_.watch(signals_.get(), [this] { read_signals(); });
}

void Monitor::read_signals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT) {
      begin_stop();
    } else if (info.ssi_signo == SIGHUP) {
      reload_config();
    }
  }
  reap();
}

void Monitor::reap() {
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    if (listener_ && listener_->pid == pid) {
      listener_.reset();
      listener_ended(exit_status_of(status));
      continue;
    }
    for (auto& [id, client] : clients_) {
      if (client.pid == pid) {
        client.pid = -1;  // reaped: the number may become another's before its socket is read
      }
    }
  }
}

void Monitor::begin_stop() {
  if (stop_at_) {
    return;
  }
  stop_at_ = Clock::now() + config_.limits.drain;
  log::info("stopping", {{"sessions", std::to_string(sessions_.size())}});
  // The port closes with the listener's copy.
  port_.reset();
  forget_listener();
  while (!wishes_.empty()) {
    const Wish wish = wishes_.front();
    wishes_.pop_front();
    if (const auto at = clients_.find(wish.connection); at != clients_.end()) {
      deny_session(at->second, wish.channel, "the door is stopping");
    }
  }
  if (link_ready_) {
    const record::Drain drain{static_cast<std::uint32_t>(config_.limits.drain.count())};
    static_cast<void>(send_record(link_.get(), drain));
  }
}

// For new connections: the listener is started afresh with the new text, sessions go on.
void Monitor::reload_config() {
  if (stop_at_) {
    return;
  }
  auto loaded = load_config(config_path_);
  auto passed = loaded.ok() ? environment_to_pass(loaded->config.pass_env)
                            : Result<std::vector<std::string>>(loaded.error());
  if (!passed.ok()) {
    log::error("the configuration cannot be used; the old one stays",
               {{"reason", passed.error().what}});
    return;
  }
  Config& fresh = loaded->config;
  const bool needs_restart =
      fresh.listen_address != config_.listen_address || fresh.port != config_.port ||
      fresh.link_socket != config_.link_socket || fresh.audit_sink != config_.audit_sink ||
      fresh.state_dir != config_.state_dir;
  if (needs_restart) {
    log::warning(
        "listen, link.socket, audit.sink and state_dir change only when the door is restarted");
    fresh.listen_address = config_.listen_address;
    fresh.port = config_.port;
    fresh.link_socket = config_.link_socket;
    fresh.audit_sink = config_.audit_sink;
    fresh.state_dir = config_.state_dir;
  }
  if (config_.own_host_key) {
    fresh = with_own_host_key(std::move(fresh));
  }
  config_ = std::move(fresh);
  config_text_ = std::move(loaded->text);
  passed_environment_ = std::move(passed).value();
  log::info("the configuration was read again");
  refresh_keys();
  if (listener_) {
    ::kill(listener_->pid, SIGTERM);
  }
}

// Two steps: the sessions first, then the connections.
bool Monitor::stopped() {
  if (!stop_at_) {
    return false;
  }
  const auto now = Clock::now();
  if (!last_stop_at_ && (sessions_.empty() || now >= *stop_at_)) {
    last_stop_at_ = now + kHangUpGrace;
    for (auto& [id, client] : clients_) {
      hang_up(client, "the door is stopping");
    }
  }
  return last_stop_at_ && (clients_.empty() || now >= *last_stop_at_) &&
         (!audit_.blocked() || now >= *last_stop_at_);
}

// The log is another stream, often kept elsewhere: lines taken off the audit's end are missed by
// whoever has a newer head.
void Monitor::tell_head() {
  const AuditHead& head = audit_.head();
  if (head.sequence != told_head_) {
    told_head_ = head.sequence;
    log::info(kHeadMessage, {{"seq", std::to_string(head.sequence)}, {"chain", head.hash}});
  }
}

void Monitor::tick() {
  const auto now = Clock::now();
  audit_summary();
  isolation_.keep();
  loop_.resume(link_listener_.get());
  if (audit_.head().sequence - told_head_ >= kLinesPerHead) {
    tell_head();
  }
  refresh_keys_if_changed();
  if (config_.own_host_key && !host_key_.empty() &&
      audit_.head().sequence - keys_told_ >= kLinesPerKeys) {
    tell_keys();
  }
  end_abandoned_sessions();
  static_cast<void>(generation_.keep());  // was logged when it could not be kept
  evict_unauthorised();                   // a key can expire without any file changing
  for (auto& [id, client] : clients_) {
    if (client.kill_at && now >= *client.kill_at) {
      kill_client(client);
    } else if (!client.logged_in &&
               now >= client.since + config_.limits.login_grace + kGraceSlack) {
      hang_up(client, "no login within the grace time");
    }
  }
  while (!wishes_.empty() && now >= wishes_.front().until) {
    const Wish wish = wishes_.front();
    wishes_.pop_front();
    if (const auto at = clients_.find(wish.connection); at != clients_.end()) {
      deny_session(at->second, wish.channel, "the box's side is not there; try again in a moment");
    }
  }
}

Status Monitor::load_keys_first() {
  keys_signature_ = keys_signature(config_.keys_dir);
  auto loaded = load_keys(config_.keys_dir, config_.keys_trust);
  if (!loaded.ok()) {
    return std::move(loaded).error().in("keys");
  }
  if (is_older(*loaded)) {
    // The door lives and lets nobody in until the right keys are there.
    keys_.generation = generation_.highest();
    refuse_keys(older_reason(*loaded, generation_.highest()));
    return {};
  }
  put_in_force(std::move(loaded).value());
  return {};
}

void Monitor::refresh_keys_if_changed() {
  if (keys_signature(config_.keys_dir) != keys_signature_) {
    refresh_keys();
  }
}

bool Monitor::is_older(const LoadedKeys& loaded) const {
  return goes_back(loaded.keys.generation, generation_.highest());
}

void Monitor::refuse_keys(const std::string& reason) {
  log::error("the keys are refused", {{"reason", reason}});
  audit(keys_refused_event(reason));
}

void Monitor::refresh_keys() {
  keys_signature_ = keys_signature(config_.keys_dir);
  auto loaded = load_keys(config_.keys_dir, config_.keys_trust);
  if (!loaded.ok()) {
    // Fail closed: what cannot be read authorises nobody.
    refuse_keys(loaded.error().what + ": nobody can enter");
    keys_ = KeySet{};
    keys_.generation = generation_.highest();
  } else if (is_older(*loaded)) {
    refuse_keys(older_reason(*loaded, generation_.highest()));
  } else {
    put_in_force(std::move(loaded).value());
  }
  evict_unauthorised();
}

void Monitor::put_in_force(LoadedKeys loaded) {
  keys_ = std::move(loaded.keys);
  if (const Status kept = generation_.raise(keys_.generation); !kept.ok()) {
    // The keys hold all the same: they may be the ones without a leaked key. keep() tries again.
    log::error("the key generation cannot be kept: a restart could take older keys",
               {{"reason", kept.error().what}});
  }
  for (const KeyProblem& problem : loaded.problems) {
    log::warning("a line of authorized_keys counts for nothing",
                 {{"line", std::to_string(problem.line)}, {"reason", problem.what}});
  }
  certificates_refused_ = loaded.certificates_refused;
  if (!certificates_refused_.empty()) {
    log::error("no certificate is taken", {{"reason", certificates_refused_}});
  }
  if (keys_.entries.empty() && keys_.authorities.empty()) {
    log::warning(loaded.present ? "authorized_keys holds no key: nobody can enter"
                                : "there is no authorized_keys: nobody can enter",
                 {{"folder", config_.keys_dir}});
  }
  bad_key_lines_ = loaded.problems.size();
  if (!host_key_.empty()) {  // else the listener's first record brings it, and the event with it
    tell_keys();
  }
}

void Monitor::tell_keys() {
  audit(keys_loaded_event(keys_, {bad_key_lines_, certificates_refused_}, host_key_));
  keys_told_ = audit_.head().sequence;
}

void Monitor::evict_unauthorised() {
  for (auto& [id, client] : clients_) {
    if (const AuthVerdict verdict = judge_open(client);
        defended("key-removal") && client.logged_in && !client.kill_at && !verdict.granted) {
      hang_up(client, std::string(verdict.reason));
    }
  }
  end_jobs_of_lost_keys();
}

// A key's sessions end with their connections; its jobs outlive both and are ended here, once none
// of what the key came with is in force: a certificate that was renewed in time keeps them.
void Monitor::end_jobs_of_lost_keys() {
  std::set<std::string> kept;
  for (const Credential& each : credentials_in_box_) {
    if (is_in_force(each, time_for_open(each), keys_)) {
      kept.insert(each.key);
    }
  }
  std::map<std::string, bool> told;
  std::erase_if(credentials_in_box_, [&](const Credential& each) {
    if (kept.contains(each.key)) {
      return !is_in_force(each, time_for_open(each), keys_);
    }
    const auto [at, first] = told.try_emplace(each.key, false);
    if (first) {
      // What the link takes no record of now is tried again at the next tick.
      at->second = send_record(link_.get(), record::EndJobs{each.key}).ok();
    }
    return at->second;
  });
}

AuthVerdict Monitor::judge(const Client& client) const {
  if (!defended("session-check")) {
    return {true, "the network child said so", Role::kAgent};
  }
  return decide_still(client.credential, client.address,
                      static_cast<std::int64_t>(std::time(nullptr)), keys_);
}

AuthVerdict Monitor::judge_open(const Client& client) const {
  return decide_still(client.credential, client.address, time_for_open(client.credential), keys_);
}

std::int64_t Monitor::time_for_open(const Credential& credential) const {
  const bool kept =
      credential.is_certified() && config_.certificate_expiry == CertificateExpiry::kKeepSessions;
  return kept ? 0 : static_cast<std::int64_t>(std::time(nullptr));
}

}  // namespace agentbox::sshd
