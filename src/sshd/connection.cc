// edge: see connection.h.
#include "sshd/connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/defence.h"
#include "base/text.h"
#include "sshd/lockdown.h"
#include "sshd/offered_key.h"

namespace agentbox::sshd {
namespace {

using namespace std::chrono_literals;

/// No library call takes this much processor time unless it never returns.
constexpr std::chrono::seconds kWatchdog = 2s;
/// A client that asked and hears nothing for this long waits for an answer the library never gives.
constexpr auto kUnansweredWait = 2s;
constexpr int kMaxDispatches = 64;  // of 4 KiB each: other channels and the monitor get their turn
constexpr int kMaxPasses = 32;
/// Packets before a login: an honest one needs a dozen and three for each further key. More is a
/// client that exchanges keys without end, at our cost.
constexpr std::uint64_t kMaxPacketsBeforeLogin = 256;
constexpr std::uint64_t kPointsRefusedOffer = 1;
constexpr std::uint64_t kPointsBadAnswer = 5;
constexpr std::size_t kMaxNameBytes = 128;
/// What a client that is being sent away still gets: time to read why, and not for ever.
constexpr auto kLingerLimit = 500ms;
/// Told to hang up, with sessions that are over: their clients have this long to take the last
/// words. The monitor kills after 2 s.
constexpr auto kLastWordsLimit = 1s;
constexpr std::size_t kMaxLingerBytes = 1U << 20U;

std::string key_blob(ssh_key key) {
  char* text = nullptr;
  if (ssh_pki_export_pubkey_base64(key, &text) != SSH_OK || text == nullptr) {
    return {};
  }
  const SshString owned(text);
  auto blob = base64_decode(text);
  return blob.ok() ? std::move(blob).value() : std::string();
}

std::string_view view_of(const char* text) {
  return text == nullptr ? std::string_view() : std::string_view(text);
}

// A request to log in that names no key we know of.
record::AuthTried refused(std::string_view user, std::string_view method, const char* reason) {
  record::AuthTried tried;
  tried.final = true;
  tried.user = escape_text(user, kMaxNameBytes);
  tried.method = method;
  tried.reason = reason;
  return tried;
}

Connection& connection_of(void* userdata) { return *static_cast<Connection*>(userdata); }

}  // namespace

Connection::Connection(Parts parts) : parts_(std::move(parts)), event_(ssh_event_new()) {
  const auto now = Clock::now();
  grace_end_ = defended("login-grace") ? now + parts_.limits.login_grace : Clock::time_point::max();
  idle_since_ = now;
  last_heard_ = now;
}

Connection::~Connection() {
  disconnect();
  if (event_) {
    ssh_event_remove_session(event_.get(), parts_.session.get());
  }
  // It frees its channels, which know the callbacks in the slots.
  parts_.session.reset();
}

ChildExit Connection::run() {
  if (!start()) {
    end("the handshake could not begin");  // mostly: the client has left already
  }
  while (!ended_) {
    arm_watchdog(kWatchdog);
    wait();
    arm_watchdog(kWatchdog);
    pass();
    check_deadlines();
  }
  disconnect();
  if (monitor_gone_) {
    return ChildExit::kMonitorGone;
  }
  tell(record::Closing{escape_text(end_reason_, 200), socket_counter_.in_bytes,
                       socket_counter_.out_bytes});
  return ChildExit::kDone;
}

bool Connection::start() {
  ssh_session session = parts_.session.get();
  install_server_callbacks();
  ssh_set_auth_methods(session, SSH_AUTH_METHOD_PUBLICKEY);
  ssh_set_counters(session, &socket_counter_, &packet_counter_);
  ssh_set_blocking(session, 0);
  // Sends our banner; the rest of the handshake is driven by the event's dispatching.
  const int rc = ssh_handle_key_exchange(session);
  return event_ && (rc == SSH_AGAIN || rc == SSH_OK) &&
         ssh_event_add_session(event_.get(), session) == SSH_OK;
}

void Connection::wait() {
  std::vector<pollfd> entries;
  const short pending =
      (ssh_get_status(parts_.session.get()) & SSH_WRITE_PENDING) != 0 ? POLLOUT : 0;
  entries.push_back({ssh_get_fd(parts_.session.get()), static_cast<short>(POLLIN | pending), 0});
  entries.push_back({parts_.monitor.get(), POLLIN, 0});
  for (const Slot& slot : slots_) {
    const Relay::Interest interest = slot.relay->interest();
    if (interest.stdio >= 0) {
      const int events = (interest.read ? POLLIN : 0) | (interest.write ? POLLOUT : 0);
      entries.push_back({interest.stdio, static_cast<short>(events), 0});
    }
    if (interest.log >= 0) {
      entries.push_back({interest.log, POLLIN, 0});
    }
  }
  const int timeout = busy_ ? 0 : poll_timeout(next_deadline(), Clock::now());
  static_cast<void>(::poll(entries.data(), entries.size(), timeout));
  if (entries[1].revents != 0) {
    read_monitor();
  }
}

Connection::Clock::time_point Connection::next_deadline() const {
  if (hang_up_) {
    return hang_up_by_;
  }
  if (!authenticated_) {
    return std::min(grace_end_, unanswered_since_ == Clock::time_point::max()
                                    ? grace_end_
                                    : unanswered_since_ + kUnansweredWait);
  }
  const auto keepalive = last_heard_ + parts_.limits.keepalive * static_cast<int>(misses_ + 1);
  return slots_.empty() ? std::min(keepalive, idle_since_ + parts_.limits.idle) : keepalive;
}

// Almost every call into the library may run callbacks, after what it changes has been looked at:
// so passes go on until one of them saw nothing new.
void Connection::pass() {
  for (int round = 0; round < kMaxPasses && !ended_; ++round) {
    const std::uint64_t before = callbacks_;
    drive_library();
    if (ended_) {
      return;
    }
    pump_relays();
    if (callbacks_ == before) {
      busy_ = false;
      return;
    }
  }
  busy_ = true;
}

void Connection::drive_library() {
  for (int i = 0; i < kMaxDispatches; ++i) {
    const std::uint64_t answered = answers_;
    const int rc = ssh_event_dopoll(event_.get(), 0);
    const int status = ssh_get_status(parts_.session.get());
    if (rc == SSH_ERROR || (status & (SSH_CLOSED | SSH_CLOSED_ERROR)) != 0) {
      const std::string why = ssh_get_error(parts_.session.get());
      end(why.starts_with("Received SSH_MSG_DISCONNECT") ? "closed by the client"
                                                         : "link ended: " + why);
      return;
    }
    // After each: a quick client's next packet may be read in the same round as its last one.
    check_unanswered(answered);
    if (rc == SSH_AGAIN) {
      break;
    }
    ++callbacks_;
    if (ended_) {
      return;
    }
  }
  if (socket_counter_.in_bytes != bytes_seen_) {
    bytes_seen_ = socket_counter_.in_bytes;
    last_heard_ = Clock::now();
    misses_ = 0;
  }
}

// A bad signature, an unknown key type or a signature type that is switched off make the library
// say nothing at all, and the client would wait for the whole grace. Before the service was asked
// for there is nothing to answer: that client may be asking its user about our host key.
void Connection::check_unanswered(std::uint64_t answered_before) {
  if (authenticated_ || packet_counter_.in_packets == packets_seen_) {
    return;
  }
  const std::uint64_t packets = packet_counter_.in_packets - packets_seen_;
  packets_seen_ = packet_counter_.in_packets;
  if (defended("packet-cap") && packets_seen_ > kMaxPacketsBeforeLogin) {
    end("too many packets before a login");
    return;
  }
  // One that was answered may have been read together with one that never will be.
  const bool all_answered = answered_before == 0 || answers_ - answered_before >= packets;
  unanswered_since_ = all_answered ? Clock::time_point::max() : Clock::now();
}

void Connection::pump_relays() {
  for (auto slot = slots_.begin(); slot != slots_.end();) {
    if (!slot->relay->pump()) {
      end("the client ignores the channel window");
      return;
    }
    if (!slot->relay->finished()) {
      ++slot;
      continue;
    }
    ssh_remove_channel_callbacks(slot->relay->channel(), &slot->callbacks);
    ssh_channel_free(slot->relay->channel());
    slot = slots_.erase(slot);
    idle_since_ = Clock::now();
    ++callbacks_;
  }
}

void Connection::check_deadlines() {
  const auto now = Clock::now();
  if (!ended_ && hang_up_ && (now >= hang_up_by_ || !has_only_last_words())) {
    end(*hang_up_);
  }
  if (ended_) {
    return;
  }
  if (!authenticated_) {
    if (now >= grace_end_) {
      end("no login within the grace time");
    } else if (unanswered_since_ != Clock::time_point::max() &&
               now >= unanswered_since_ + kUnansweredWait) {
      tell(refused("", "publickey",
                   "bad signature, or a key or signature type that is not accepted"));
      add_points(kPointsBadAnswer);
      end("a login request that cannot be answered");
    }
    return;
  }
  if (slots_.empty() && now >= idle_since_ + parts_.limits.idle) {
    end("idle without a session");
    return;
  }
  check_keepalive(now);
}

void Connection::check_keepalive(Clock::time_point now) {
  if (now < last_heard_ + parts_.limits.keepalive * static_cast<int>(misses_ + 1)) {
    return;
  }
  if (++misses_ > parts_.limits.keepalive_misses) {
    end("the client no longer answers");
    return;
  }
  // The library keeps one question open at a time: a first call collects an old answer, the next
  // one asks. An answer of any kind counts as life, through last_heard_.
  if (ssh_send_keepalive(parts_.session.get()) == SSH_OK) {
    static_cast<void>(ssh_send_keepalive(parts_.session.get()));
  }
}

void Connection::read_monitor() {
  auto received = receive_record(parts_.monitor.get());
  if (!received.ok() || !received->has_value()) {
    monitor_gone_ = true;
    end("the door is stopping");
    return;
  }
  ++callbacks_;
  handle(std::move(**received));
}

void Connection::handle(Received received) {
  if (auto* given = std::get_if<record::SessionGiven>(&received.record);
      given != nullptr && received.fds.size() == 2) {
    if (Relay* relay = find(given->channel)) {
      relay->attach(std::move(received.fds[0]), std::move(received.fds[1]));
    }
  } else if (const auto* denied = std::get_if<record::SessionDenied>(&received.record)) {
    if (Relay* relay = find(denied->channel)) {
      relay->deny(denied->reason);
    }
  } else if (const auto* over = std::get_if<record::SessionOver>(&received.record)) {
    if (Relay* relay = find(over->channel)) {
      relay->over(over->how, over->status);
    }
  } else if (const auto* hang_up = std::get_if<record::HangUp>(&received.record)) {
    hang_up_ = hang_up->reason;
    hang_up_by_ = Clock::now() + kLastWordsLimit;
  }
}

// True while sessions are over and their clients have not closed yet. OpenSSH's client drops what
// it has read and not yet written when it is told to disconnect: the reply that was waited for at a
// stop would be lost.
bool Connection::has_only_last_words() const {
  return !slots_.empty() && std::all_of(slots_.begin(), slots_.end(),
                                        [](const Slot& slot) { return slot.relay->is_over(); });
}

void Connection::end(std::string_view reason) {
  if (ended_) {
    return;
  }
  ended_ = true;
  end_reason_ = reason;
}

// Outside of every callback: the library frees the channels here. Where it has closed the link by
// itself it may have freed them already, and none of them may be touched any more.
void Connection::disconnect() {
  if ((ssh_get_status(parts_.session.get()) & (SSH_CLOSED | SSH_CLOSED_ERROR)) != 0) {
    return;
  }
  for (Slot& slot : slots_) {
    ssh_remove_channel_callbacks(slot.relay->channel(), &slot.callbacks);
  }
  slots_.clear();
  ssh_session_set_disconnect_message(parts_.session.get(), end_reason_.c_str());
  ssh_disconnect(parts_.session.get());
  linger();
}

// Closing a socket with unread bytes resets it, and the reset overtakes the message that says why.
void Connection::linger() {
  const auto deadline = Clock::now() + kLingerLimit;
  ::shutdown(parts_.socket.get(), SHUT_WR);
  std::array<char, 16384> unread;  // NOLINT(cppcoreguidelines-pro-type-member-init): thrown away
  std::size_t total = 0;
  while (total < kMaxLingerBytes && wait_readable(parts_.socket.get(), deadline)) {
    const ssize_t got = ::recv(parts_.socket.get(), unread.data(), unread.size(), 0);
    if (got <= 0) {
      return;
    }
    total += static_cast<std::size_t>(got);
  }
}

void Connection::tell(const record::Record& record) {
  if (!send_record(parts_.monitor.get(), record).ok()) {
    monitor_gone_ = true;
    ended_ = true;
  }
}

void Connection::add_points(std::uint64_t points) {
  points_ += points;
  if (defended("login-points") && points_ >= parts_.limits.login_points) {
    end("too many failed logins");
  }
}

Relay* Connection::find(std::uint32_t number) {
  const auto at = std::find_if(slots_.begin(), slots_.end(),
                               [&](const Slot& slot) { return slot.relay->number() == number; });
  return at == slots_.end() ? nullptr : at->relay.get();
}

int Connection::on_public_key(std::string_view user, ssh_key key, char state) {
  ++callbacks_;
  ++answers_;
  const bool is_signed = state == SSH_PUBLICKEY_STATE_VALID;
  const OfferedKey offered = read_offered_key(key_blob(key));
  const Credential& credential = offered.credential;
  const AuthVerdict verdict =
      decide_auth(AuthRequest{user, credential.key, parts_.peer.address,
                              static_cast<std::int64_t>(std::time(nullptr)),
                              offered.certificate ? &*offered.certificate : nullptr},
                  parts_.keys);
  const bool good = verdict.granted && (is_signed || state == SSH_PUBLICKEY_STATE_NONE);
  tell(record::AuthTried{
      good, is_signed, escape_text(user, kMaxNameBytes), "publickey", offered.algorithm,
      credential.key, offered.problem.empty() ? std::string(verdict.reason) : offered.problem,
      credential.authority, credential.serial, credential.key_id, credential.expires});
  if (!good) {
    add_points(is_signed ? kPointsBadAnswer : kPointsRefusedOffer);
    return SSH_AUTH_DENIED;
  }
  if (is_signed) {
    authenticated_ = true;
    idle_since_ = Clock::now();
  }
  return SSH_AUTH_SUCCESS;
}

int Connection::on_other_auth(std::string_view user, std::string_view method) {
  ++callbacks_;
  ++answers_;
  if (method != "none") {  // clients ask "none" to learn the methods; that is no attempt
    tell(refused(user, method, "only public keys log in"));
    add_points(kPointsBadAnswer);
  }
  return SSH_AUTH_DENIED;
}

int Connection::on_service(std::string_view service) {
  ++callbacks_;
  ++answers_;
  if (authenticated_) {
    // Refused, the library would disconnect at once and free the channels that its own callers, and
    // ours, go on to use. So it may say yes, and there is nothing behind it.
    end("asks for a service after the login");
    return SSH_OK;
  }
  return service == "ssh-userauth" ? SSH_OK : SSH_ERROR;
}

ssh_channel Connection::on_open() {
  ++callbacks_;
  if (!authenticated_ || slots_.size() >= parts_.limits.channels_per_connection) {
    tell(record::Requested{0, false, "session", 0, "",
                           authenticated_ ? "too many channels" : "not logged in"});
    return nullptr;
  }
  ssh_channel channel = ssh_channel_new(parts_.session.get());
  if (channel == nullptr) {
    return nullptr;
  }
  Slot& slot = slots_.emplace_back();
  slot.connection = this;
  slot.relay = std::make_unique<Relay>(parts_.session.get(), channel, next_channel_++);
  install_channel_callbacks(slot);
  return channel;
}

int Connection::on_request(Relay& relay, RequestKind kind, std::string_view words) {
  ++callbacks_;
  const RequestVerdict verdict = decide_request(kind, words, relay.has_session());
  tell(record::Requested{relay.number(), verdict.starts_session, std::string(request_name(kind)),
                         words.size(), words.empty() ? "" : sha256_hex(words),
                         std::string(verdict.reason)});
  if (!verdict.starts_session) {
    return SSH_ERROR;
  }
  relay.want_session();
  tell(record::SessionWanted{relay.number()});
  return SSH_OK;
}

void Connection::install_server_callbacks() {
  server_callbacks_.userdata = this;
  server_callbacks_.auth_pubkey_function = [](ssh_session, const char* user, ssh_key key,
                                              char state, void* self) {
    return connection_of(self).on_public_key(view_of(user), key, state);
  };
  server_callbacks_.auth_none_function = [](ssh_session, const char* user, void* self) {
    return connection_of(self).on_other_auth(view_of(user), "none");
  };
  server_callbacks_.auth_password_function = [](ssh_session, const char* user, const char*,
                                                void* self) {
    return connection_of(self).on_other_auth(view_of(user), "password");
  };
  server_callbacks_.service_request_function = [](ssh_session, const char* service, void* self) {
    return connection_of(self).on_service(view_of(service));
  };
  // Without this the library runs Kerberos code for anybody who names the method.
  server_callbacks_.gssapi_select_oid_function = [](ssh_session, const char* user, int, ssh_string*,
                                                    void* self) {
    static_cast<void>(connection_of(self).on_other_auth(view_of(user), "gssapi-with-mic"));
    return ssh_string(nullptr);
  };
  server_callbacks_.channel_open_request_session_function = [](ssh_session, void* self) {
    return connection_of(self).on_open();
  };
  if (!defended("gssapi")) {
    server_callbacks_.gssapi_select_oid_function = nullptr;
  }
  ssh_callbacks_init(&server_callbacks_);
  ssh_set_server_callbacks(parts_.session.get(), &server_callbacks_);
}

void Connection::install_channel_callbacks(Slot& slot) {
  auto& callbacks = slot.callbacks;
  callbacks.userdata = &slot;
  callbacks.channel_data_function = [](ssh_session, ssh_channel, void* data, std::uint32_t length,
                                       int is_stderr, void* self) {
    auto& at = *static_cast<Slot*>(self);
    ++at.connection->callbacks_;
    return static_cast<int>(
        at.relay->on_data({static_cast<const char*>(data), length}, is_stderr != 0));
  };
  callbacks.channel_eof_function = [](ssh_session, ssh_channel, void* self) {
    auto& at = *static_cast<Slot*>(self);
    ++at.connection->callbacks_;
    at.relay->on_eof();
  };
  callbacks.channel_close_function = [](ssh_session, ssh_channel, void* self) {
    auto& at = *static_cast<Slot*>(self);
    ++at.connection->callbacks_;
    at.relay->on_close();
  };
  callbacks.channel_shell_request_function = [](ssh_session, ssh_channel, void* self) {
    auto& at = *static_cast<Slot*>(self);
    return at.connection->on_request(*at.relay, RequestKind::kShell, "");
  };
  callbacks.channel_exec_request_function = [](ssh_session, ssh_channel, const char* command,
                                               void* self) {
    auto& at = *static_cast<Slot*>(self);
    return at.connection->on_request(*at.relay, RequestKind::kExec, view_of(command));
  };
  callbacks.channel_subsystem_request_function = [](ssh_session, ssh_channel, const char* name,
                                                    void* self) {
    auto& at = *static_cast<Slot*>(self);
    return at.connection->on_request(*at.relay, RequestKind::kSubsystem, view_of(name));
  };
  callbacks.channel_pty_request_function = [](ssh_session, ssh_channel, const char*, int, int, int,
                                              int, void* self) {
    auto& at = *static_cast<Slot*>(self);
    return at.connection->on_request(*at.relay, RequestKind::kPty, "");
  };
  callbacks.channel_env_request_function = [](ssh_session, ssh_channel, const char* name,
                                              const char*, void* self) {
    auto& at = *static_cast<Slot*>(self);
    return at.connection->on_request(*at.relay, RequestKind::kEnv, view_of(name));
  };
  ssh_callbacks_init(&callbacks);
  ssh_set_channel_callbacks(slot.relay->channel(), &callbacks);
}

}  // namespace agentbox::sshd
