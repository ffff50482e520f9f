// pure: see audit_events.h.
#include "sshd/audit_events.h"

namespace agentbox::sshd {
namespace {

AuditEvent of_connection(std::string_view name, const ConnectionFacts& facts) {
  AuditEvent event = AuditEvent(name).number("connection", static_cast<std::int64_t>(facts.id));
  event = std::move(event).text("peer", facts.peer);
  return facts.key.empty() ? event : std::move(event).text("key", facts.key);
}

AuditEvent of_session(std::string_view name, const SessionFacts& facts) {
  return AuditEvent(name)
      .number("connection", static_cast<std::int64_t>(facts.connection))
      .text("session", facts.id)
      .text("key", facts.key)
      .text("role", facts.role)
      .text("peer", facts.peer);
}

std::string_view end_name(record::End how) {
  switch (how) {
    case record::End::kExited:
      return "exited";
    case record::End::kSignalled:
      return "signalled";
    case record::End::kLost:
      return "lost";
  }
  return "lost";
}

std::int64_t count(std::uint64_t value) { return static_cast<std::int64_t>(value); }

}  // namespace

AuditEvent listen_event(const std::string& address, const record::Listening& record,
                        const std::optional<AuditHead>& before) {
  AuditEvent event = AuditEvent("listen")
                         .text("address", address)
                         .text("host_key", record.host_key)
                         .text("host_key_fingerprint", record.fingerprint);
  return before ? std::move(event)
                      .number("before_seq", count(before->sequence))
                      .text("before_sha256", before->hash)
                : event;
}

AuditEvent connect_event(const ConnectionFacts& facts) { return of_connection("connect", facts); }

AuditEvent auth_event(const ConnectionFacts& facts, const record::AuthTried& record) {
  const char* result = !record.accepted ? "refused" : record.final ? "accepted" : "offered";
  ConnectionFacts without_key = facts;
  without_key.key.clear();  // this event names the key that was tried
  AuditEvent event = of_connection("auth", without_key)
                         .text("result", result)
                         .text("user", record.user)
                         .text("method", record.method)
                         .text("algorithm", record.algorithm)
                         .text("key", record.key)
                         .text("reason", record.reason);
  // A serial is text: it has 64 bits, and readers of JSON keep 53 of a number.
  return record.authority.empty() ? event
                                  : std::move(event)
                                        .text("ca", record.authority)
                                        .text("serial", std::to_string(record.serial))
                                        .text("key_id", record.key_id);
}

AuditEvent request_event(const ConnectionFacts& facts, const record::Requested& record) {
  return of_connection("request", facts)
      .number("channel", record.channel)
      .text("kind", record.kind)
      .flag("allowed", record.allowed)
      .number("words_bytes", count(record.words_bytes))
      .text("words_sha256", record.words_sha256)
      .text("reason", record.reason);
}

AuditEvent disconnect_event(const ConnectionFacts& facts, const record::Closing& record) {
  return of_connection("disconnect", facts)
      .text("reason", record.reason)
      .number("bytes_in", count(record.bytes_in))
      .number("bytes_out", count(record.bytes_out));
}

AuditEvent session_start_event(const SessionFacts& facts) {
  return of_session("session_start", facts);
}

AuditEvent session_end_event(const SessionFacts& facts, record::End how, int status,
                             std::uint64_t calls, std::int64_t milliseconds) {
  return of_session("session_end", facts)
      .text("how", end_name(how))
      .number("status", status)
      .number("calls", count(calls))
      .number("duration_ms", milliseconds);
}

AuditEvent tool_call_event(const SessionFacts& facts, const record::ToolCalled& record) {
  AuditEvent event = of_session("tool_call", facts)
                         .text("tool", record.tool)
                         .text("outcome", record.outcome)
                         .text("code", record.code)
                         .text("path", record.path)
                         .number("duration_us", count(record.duration_us))
                         .number("arguments_bytes", count(record.arguments_bytes))
                         .text("arguments_sha256", record.arguments_sha256)
                         .number("bytes_in", count(record.bytes_in))
                         .number("bytes_out", count(record.bytes_out));
  return record.has_exit_code ? std::move(event).number("exit_code", record.exit_code) : event;
}

AuditEvent keys_loaded_event(const KeySet& keys, const KeysRefused& refused,
                             const std::string& host_key) {
  AuditEvent event = AuditEvent("keys_loaded")
                         .number("generation", count(keys.generation))
                         .number("keys", count(keys.entries.size()))
                         .number("revoked", count(keys.revoked.size()))
                         .number("refused_lines", count(refused.lines))
                         .text("host_key", host_key)
                         .number("authorities", count(keys.authorities.size()));
  return refused.certificates.empty()
             ? event
             : std::move(event).text("certificates_refused", refused.certificates);
}

AuditEvent keys_refused_event(const std::string& reason) {
  return AuditEvent("keys_loaded").number("keys", 0).text("refused", reason);
}

AuditEvent summary_event(const std::map<std::string, std::uint64_t>& counts) {
  AuditEvent event = limit_event("", "events of connections without a login, past the rate");
  for (const auto& [kind, number] : counts) {
    event = std::move(event).number(kind, count(number));
  }
  return event;
}

AuditEvent limit_event(const std::string& peer, const std::string& reason) {
  return AuditEvent("limit").text("peer", peer).text("reason", reason);
}

}  // namespace agentbox::sshd
