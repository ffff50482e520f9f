// edge: see monitor.h. Connections, sessions and the link to the box.
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

#include "base/defence.h"
#include "base/log.h"
#include "base/public_key.h"
#include "base/random.h"
#include "base/text.h"
#include "sshd/listener.h"
#include "sshd/monitor.h"

namespace agentbox::sshd {
namespace {

using namespace std::chrono_literals;

/// A session that the box's side cannot take now waits this long for it: long enough for a restart.
constexpr auto kBoxWait = 10s;
constexpr auto kHangUpGrace = 2s;
constexpr std::size_t kSessionIdBytes = 16;
/// A session ends its calls at once when its client has left; twice what it may take for that.
constexpr auto kAbandonedGrace = 10s;
/// The network child counts channels; a session ends a little after its channel, and a client that
/// closes one and opens the next must not be refused for that.
constexpr std::uint64_t kSessionsPerChannel = 2;

}  // namespace

void Monitor::read_client(std::uint64_t id) {
  const auto at = clients_.find(id);
  if (at == clients_.end()) {
    return;
  }
  auto received = receive_record(at->second.records.get());
  if (!received.ok()) {
    if (received.error().code != Code::kUnavailable) {
      // Not a record: a network child that has been taken over.
      log::error("a connection broke the record protocol", {{"connection", std::to_string(id)}});
      kill_client(at->second);
      client_gone(id);
    }
    return;
  }
  if (!received->has_value()) {
    client_gone(id);
    return;
  }
  handle_client(at->second, (*received)->record);
}

void Monitor::handle_client(Client& client, const record::Record& message) {
  if (const auto* tried = std::get_if<record::AuthTried>(&message)) {
    ++client.audit_lines;
    auth_tried(client, *tried);
  } else if (const auto* requested = std::get_if<record::Requested>(&message)) {
    ++client.audit_lines;
    audit_stranger(client, "request", request_event(client.facts, *requested));
  } else if (const auto* wanted = std::get_if<record::SessionWanted>(&message)) {
    want_session(client, wanted->channel);
  } else if (const auto* closing = std::get_if<record::Closing>(&message)) {
    client.closing = *closing;
  } else if (const auto* isolated = std::get_if<record::Isolated>(&message);
             isolated != nullptr && !client.held) {
    client.held = isolated->descriptors;
    note_isolation(client);
  }
  if (defended("request-bound") && client.audit_lines > kMaxAuditLinesPerConnection &&
      !client.kill_at) {
    audit(limit_event(client.facts.peer, "more than " +
                                             std::to_string(kMaxAuditLinesPerConnection) +
                                             " requests on one connection"));
    hang_up(client, "too many requests");
  }
}

// A network child sends its word before it reads a byte of its client's; what a taken-over one says
// later counts for nothing.
void Monitor::note_isolation(const Client& client) {
  if (client.pid > 0 && client.held) {
    isolation_.saw("network", client.pid, *client.held);
  }
}

void Monitor::audit_stranger(const Client& client, std::string_view kind, const AuditEvent& event) {
  if (client.logged_in || may_write_stranger(kind)) {
    audit(event);
  }
}

// While the sink is blocked strangers are counted alone: their lines would fill our memory.
bool Monitor::may_write_stranger(std::string_view kind) {
  if (audit_.blocked()) {
    strangers_.count(kind);
    return false;
  }
  return strangers_.admit(kind, static_cast<std::int64_t>(std::time(nullptr)));
}

void Monitor::audit_stranger_limit(const std::string& peer, const std::string& reason) {
  if (may_write_stranger("limit")) {
    audit(limit_event(peer, reason));
  }
}

void Monitor::audit_summary() {
  if (audit_.blocked()) {
    return;
  }
  const auto counts = strangers_.take(static_cast<std::int64_t>(std::time(nullptr)));
  if (!counts.empty()) {
    audit(summary_event(counts));
  }
}

void Monitor::auth_tried(Client& client, const record::AuthTried& tried) {
  const bool is_login = tried.accepted && tried.final && !client.logged_in;
  if (!is_login) {
    audit_stranger(client, "auth", auth_event(client.facts, tried));
    return;
  }
  audit(auth_event(client.facts, tried));
  client.facts.key = tried.key;
  client.credential = {tried.key, tried.authority, tried.serial, tried.key_id, tried.expires};
  refresh_keys_if_changed();  // the network child has just read the files: this must be no older
  const AuthVerdict verdict = judge(client);
  // A listed key is its own proof of form; a certificate's could be any text, and goes into box.
  const bool well_formed = is_fingerprint(tried.key);
  if (!verdict.granted || !well_formed) {
    client.facts.key.clear();
    hang_up(client, well_formed ? std::string(verdict.reason) : "no key's fingerprint");
    return;
  }
  client.logged_in = true;
  if (clients_.size() > config_.limits.connections && verdict.role != Role::kOperator) {
    audit(limit_event(client.facts.peer, "the last place is kept for a key of role operator"));
    hang_up(client, "every place is taken");
    return;
  }
  if (client.listener_run == listener_run_) {
    tell_listener(record::LoggedIn{client.facts.id});
  }
}

void Monitor::client_gone(std::uint64_t id) {
  const auto at = clients_.find(id);
  if (at == clients_.end()) {
    return;
  }
  const record::Closing closing =
      at->second.closing.value_or(record::Closing{"connection process ended", 0, 0});
  audit_stranger(at->second, "disconnect", disconnect_event(at->second.facts, closing));
  std::erase_if(wishes_, [&](const Wish& wish) { return wish.connection == id; });
  for (const std::string& session : at->second.sessions) {
    if (const auto left = sessions_.find(session); left != sessions_.end()) {
      left->second.kill_at = Clock::now() + kAbandonedGrace;
    }
  }
  loop_.forget(at->second.records.get());
  clients_.erase(at);
}

void Monitor::hang_up(Client& client, const std::string& reason) {
  if (client.kill_at) {
    return;
  }
  client.kill_at = Clock::now() + kHangUpGrace;
  if (!send_record(client.records.get(), record::HangUp{escape_text(reason, 200)}).ok()) {
    client.kill_at = Clock::now();
  }
}

void Monitor::want_session(Client& client, std::uint32_t channel) {
  refresh_keys_if_changed();
  if (!client.logged_in || (defended("session-check") && !judge_open(client).granted)) {
    deny_session(client, channel, "the key is not authorised");
    hang_up(client, "the key is not authorised");
  } else if (stop_at_) {
    deny_session(client, channel, "the door is stopping");
  } else if (client.sessions.size() >=
                 kSessionsPerChannel * config_.limits.channels_per_connection ||
             client.sessions_started >= kMaxSessionsPerConnection) {
    audit(limit_event(client.facts.peer, "sessions of one connection"));
    deny_session(client, channel, "too many sessions on this connection");
  } else if (audit_.blocked()) {
    deny_session(client, channel, "the audit log takes nothing now");
  } else if (!link_ready_) {
    wishes_.push_back({client.facts.id, channel, Clock::now() + kBoxWait});
  } else {
    grant_session(client, channel);
  }
}

void Monitor::grant_session(Client& client, std::uint32_t channel) {
  const AuthVerdict verdict = judge(client);
  if (!verdict.granted) {
    deny_session(client, channel, "the key is not authorised");
    return;
  }
  if (const Status started = start_session(client, channel, verdict); !started.ok()) {
    log::error("a session could not be made", {{"reason", started.error().what}});
    deny_session(client, channel, "the box could not take the session; try again in a moment");
  }
}

Status Monitor::start_session(Client& client, std::uint32_t channel, const AuthVerdict& verdict) {
  AB_TRY(stdio, make_socketpair(SOCK_STREAM));
  AB_TRY(log_pipe, make_pipe());
  AB_TRY(records, make_socketpair(SOCK_SEQPACKET));
  AB_CHECK(set_nonblocking(stdio.first.get(), true));
  AB_CHECK(set_nonblocking(log_pipe.first.get(), true));
  AB_CHECK(set_nonblocking(records.first.get(), true));
  const record::Start start =
      plan_session(random_hex(kSessionIdBytes), client.credential.key, verdict.role,
                   verdict.profile.value_or(config_.profile), keys_.generation, passed_environment_,
                   isolation_.summary());
  AB_CHECK(send_record(link_.get(), start,
                       {stdio.second.get(), log_pipe.second.get(), records.second.get()}));
  credentials_in_box_.insert(client.credential);
  // From here on the box knows the session; whatever fails now ends with its own end.
  Session session;
  session.facts = {start.session, client.facts.id, client.facts.peer, start.key, start.role};
  session.channel = channel;
  session.since = Clock::now();
  AB_CHECK(loop_.watch(records.first.get(), [this, id = start.session] { read_session(id); }));
  session.records = std::move(records.first);
  audit(session_start_event(session.facts));
  client.sessions.insert(start.session);
  ++client.sessions_started;
  sessions_.emplace(start.session, std::move(session));
  return send_record(client.records.get(), record::SessionGiven{channel, start.session},
                     {stdio.first.get(), log_pipe.first.get()});
}

void Monitor::deny_session(Client& client, std::uint32_t channel, const std::string& reason) {
  static_cast<void>(
      send_record(client.records.get(), record::SessionDenied{channel, escape_text(reason, 200)}));
}

// One audit record of a session; false where there is none now.
bool Monitor::read_one_call(Session& session) {
  auto received = receive_record(session.records.get());
  if (!received.ok() || !received->has_value()) {
    const bool over = received.ok() || received.error().code != Code::kUnavailable;
    if (over) {
      loop_.forget(session.records.get());
      session.records.reset();
    }
    return false;
  }
  if (const auto* call = std::get_if<record::ToolCalled>(&(*received)->record)) {
    ++session.calls;
    ++session.unanswered;
    audit(tool_call_event(session.facts, *call));
    answer_calls(session);
  }
  return true;
}

// A reply leaves the box when its line is in the audit, and not before.
void Monitor::answer_calls(Session& session) {
  while (session.unanswered > 0 && session.records && !audit_.blocked()) {
    --session.unanswered;
    // A session that does not read its answers waits for ever: its own trouble.
    static_cast<void>(send_record(session.records.get(), record::Recorded{}));
  }
}

void Monitor::read_session(const std::string& id) {
  const auto at = sessions_.find(id);
  if (at == sessions_.end()) {
    return;
  }
  if (audit_.blocked()) {
    // The session's next record waits in its socket.
    loop_.pause(at->second.records.get());
    return;
  }
  static_cast<void>(read_one_call(at->second));
}

void Monitor::resume_sessions() {
  if (audit_.blocked()) {
    sessions_waiting_ = true;
    return;
  }
  if (!sessions_waiting_) {
    return;
  }
  sessions_waiting_ = false;
  for (auto& [id, session] : sessions_) {
    if (session.records) {
      answer_calls(session);
      loop_.resume(session.records.get());
    }
  }
}

// Code in the box can stop its own session's process, which then never sees that its client has
// left: what it holds here must not add up.
void Monitor::end_abandoned_sessions() {
  const auto now = Clock::now();
  for (auto& [id, session] : sessions_) {
    if (link_ready_ && session.kill_at && now >= *session.kill_at) {
      session.kill_at = now + kAbandonedGrace;
      static_cast<void>(send_record(link_.get(), record::EndSession{id}));
    }
  }
}

void Monitor::session_ended(const std::string& id, record::End how, int status) {
  const auto at = sessions_.find(id);
  if (at == sessions_.end()) {
    return;
  }
  Session& session = at->second;
  while (session.records && read_one_call(session)) {
  }
  const auto lasted =
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - session.since);
  audit(session_end_event(session.facts, how, status, session.calls, lasted.count()));
  tell_head();
  if (const auto client = clients_.find(session.facts.connection); client != clients_.end()) {
    client->second.sessions.erase(id);
    static_cast<void>(send_record(client->second.records.get(),
                                  record::SessionOver{session.channel, how, status}));
  }
  if (session.records) {
    loop_.forget(session.records.get());
  }
  sessions_.erase(at);
}

void Monitor::accept_link() {
  UniqueFd caller(::accept4(link_listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!caller) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      loop_.pause(link_listener_.get());  // until the next tick: it would be told of again at once
    }
    return;
  }
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(caller.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 ||
      peer.uid != config_.box_uid) {
    audit_stranger_limit(
        "", "a caller of user " + std::to_string(peer.uid) + " dialled the link and was refused");
    return;
  }
  if (link_) {
    read_link();  // its end may lie in the queue: the caller would then be its successor
  }
  if (defended("one-caller") && link_) {
    audit_stranger_limit("", "a second caller dialled the link and was refused");
    return;
  }
  if (loop_.watch(caller.get(), [this] { read_link(); }).ok()) {
    link_ = std::move(caller);
    if (peer.pid > 0) {  // 0 where it lies in a pid namespace that is none of ours
      isolation_.saw("box", peer.pid);
    }
  }
}

void Monitor::read_link() {
  auto received = receive_record(link_.get());
  if (!received.ok() && received.error().code == Code::kUnavailable) {
    return;
  }
  if (!received.ok() || !received->has_value()) {
    link_lost();
    return;
  }
  const record::Record& message = (*received)->record;
  if (const auto* ready = std::get_if<record::Ready>(&message)) {
    link_ready_ = true;
    log::info("the box's side is there", {{"version", ready->version}});
    for (auto waiting = std::exchange(wishes_, {}); !waiting.empty(); waiting.pop_front()) {
      if (const auto at = clients_.find(waiting.front().connection); at != clients_.end()) {
        want_session(at->second, waiting.front().channel);
      }
    }
  } else if (const auto* ended = std::get_if<record::Ended>(&message)) {
    session_ended(ended->session, ended->how, ended->status);
  }
}

void Monitor::link_lost() {
  loop_.forget(link_.get());
  link_.reset();
  link_ready_ = false;
  credentials_in_box_.clear();
  log::warning("the box's side is gone", {{"sessions", std::to_string(sessions_.size())}});
  while (!sessions_.empty()) {
    session_ended(std::string(sessions_.begin()->first), record::End::kLost, 0);
  }
}

}  // namespace agentbox::sshd
