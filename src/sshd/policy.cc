// pure: see policy.h.
#include "sshd/policy.h"

#include <algorithm>

#include "base/text.h"

namespace agentbox::sshd {

const KeyEntry* KeySet::find(std::string_view fingerprint) const {
  const auto at = std::find_if(entries.begin(), entries.end(), [&](const KeyEntry& entry) {
    return entry.key.fingerprint() == fingerprint;
  });
  return at == entries.end() ? nullptr : &*at;
}

bool is_in_force(std::string_view fingerprint, std::int64_t now, const KeySet& keys) {
  const KeyEntry* entry = keys.find(fingerprint);
  return entry != nullptr && !(entry->expires && now >= *entry->expires) &&
         !keys.revoked.names_key(fingerprint);
}

AuthVerdict decide_auth(const AuthRequest& request, const KeySet& keys) {
  if (request.user != kLoginUser) {
    return {nullptr, "the login name is not agent"};
  }
  if (request.fingerprint.empty()) {
    return {nullptr, "key type not accepted"};
  }
  if (keys.revoked.names_key(request.fingerprint)) {
    return {nullptr, "key revoked"};
  }
  const KeyEntry* entry = keys.find(request.fingerprint);
  if (entry == nullptr) {
    return {nullptr, "key not authorised"};
  }
  if (entry->expires && request.now >= *entry->expires) {
    return {nullptr, "key expired"};
  }
  if (entry->from && !entry->from->allows(request.address)) {
    return {nullptr, "address not allowed for this key"};
  }
  return {entry, "authorised"};
}

std::string_view request_name(RequestKind kind) {
  switch (kind) {
    case RequestKind::kShell:
      return "shell";
    case RequestKind::kExec:
      return "exec";
    case RequestKind::kSubsystem:
      return "subsystem";
    case RequestKind::kPty:
      return "pty-req";
    case RequestKind::kEnv:
      return "env";
    case RequestKind::kSignal:
      return "signal";
    case RequestKind::kOther:
      return "other";
  }
  return "other";
}

RequestVerdict decide_request(RequestKind kind, std::string_view name, bool started) {
  switch (kind) {
    case RequestKind::kShell:
    case RequestKind::kExec:
      return started ? RequestVerdict{false, "this channel has its session already"}
                     : RequestVerdict{true, ""};
    case RequestKind::kSubsystem:
      if (name != kMcpSubsystem) {
        return {false, "no such subsystem"};
      }
      return started ? RequestVerdict{false, "this channel has its session already"}
                     : RequestVerdict{true, ""};
    case RequestKind::kPty:
      return {false, "a terminal would break the protocol's lines"};
    case RequestKind::kEnv:
      return {false, "the environment is the box's"};
    case RequestKind::kSignal:
      return {false, "sessions take no signals"};
    case RequestKind::kOther:
      break;
  }
  return {false, "not offered"};
}

record::Start plan_session(std::string session, const KeyEntry& entry, std::uint64_t generation,
                           const std::vector<std::string>& passed) {
  record::Start start;
  start.session = std::move(session);
  start.role = role_name(entry.role);
  start.key = entry.key.fingerprint();
  start.generation = generation;
  for (const std::string& pair : passed) {
    start.environment.push_back(escape_text(pair));
  }
  return start;
}

}  // namespace agentbox::sshd
