// pure: which audit event each record becomes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/audit_chain.h"
#include "base/record.h"
#include "sshd/audit.h"
#include "sshd/policy.h"

namespace agentbox::sshd {

/// What the monitor knows of a connection; a record's own claims never replace it.
struct ConnectionFacts {
  std::uint64_t id = 0;
  std::string peer;
  std::string key;  ///< empty until a login
};

/// What the monitor knows of a session.
struct SessionFacts {
  std::string id;
  std::uint64_t connection = 0;
  std::string peer;
  std::string key;
  std::string role;
};

/// BEFORE is given at the door's start alone: where the audit stood when the door last ended.
[[nodiscard]] AuditEvent listen_event(const std::string& address, const record::Listening& record,
                                      const std::optional<AuditHead>& before);
[[nodiscard]] AuditEvent connect_event(const ConnectionFacts& facts);
[[nodiscard]] AuditEvent auth_event(const ConnectionFacts& facts, const record::AuthTried& record);
[[nodiscard]] AuditEvent request_event(const ConnectionFacts& facts,
                                       const record::Requested& record);
[[nodiscard]] AuditEvent disconnect_event(const ConnectionFacts& facts,
                                          const record::Closing& record);
[[nodiscard]] AuditEvent session_start_event(const SessionFacts& facts);
[[nodiscard]] AuditEvent session_end_event(const SessionFacts& facts, record::End how, int status,
                                           std::uint64_t calls, std::int64_t milliseconds);
[[nodiscard]] AuditEvent tool_call_event(const SessionFacts& facts,
                                         const record::ToolCalled& record);
/// What of the key files counts for nothing.
struct KeysRefused {
  std::size_t lines = 0;     ///< of authorized_keys
  std::string certificates;  ///< why none is taken although there is a user_ca, else empty
};
[[nodiscard]] AuditEvent keys_loaded_event(const KeySet& keys, const KeysRefused& refused,
                                           const std::string& host_key);
[[nodiscard]] AuditEvent keys_refused_event(const std::string& reason);
/// What strangers did past the rate, by kind.
[[nodiscard]] AuditEvent summary_event(const std::map<std::string, std::uint64_t>& counts);
/// A bound was reached. PEER may be empty.
[[nodiscard]] AuditEvent limit_event(const std::string& peer, const std::string& reason);

}  // namespace agentbox::sshd
