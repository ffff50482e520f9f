// pure: see policy.h.
#include "sshd/policy.h"

#include <algorithm>

#include "base/defence.h"
#include "base/text.h"
#include "sshd/signature.h"

namespace agentbox::sshd {
namespace {

AuthVerdict decide_key(std::string_view fingerprint, const Address& address, std::int64_t now,
                       const KeySet& keys) {
  if (keys.revoked.names_key(fingerprint)) {
    return {false, "key revoked"};
  }
  const KeyEntry* entry = keys.find(fingerprint);
  if (entry == nullptr) {
    return {false, "key not authorised"};
  }
  if (entry->expires && now >= *entry->expires) {
    return {false, "key expired"};
  }
  if (entry->from && !entry->from->allows(address)) {
    return {false, "address not allowed for this key"};
  }
  return {true, "authorised", entry->role, entry->profile};
}

// What of a certificate can change after a login.
AuthVerdict decide_certified(const Credential& credential, std::int64_t now, const KeySet& keys) {
  const Revoked& revoked = keys.revoked;
  if (keys.box_name.empty()) {
    return {false, "certificates are not taken: the box has no name"};
  }
  if (std::none_of(keys.authorities.begin(), keys.authorities.end(), [&](const PublicKey& key) {
        return key.fingerprint() == credential.authority;
      })) {
    return {false, "certificate of a CA that is not trusted"};
  }
  if (revoked.names_key(credential.key) || revoked.names_key(credential.authority) ||
      revoked.names_serial(credential.serial) || revoked.names_id(credential.key_id)) {
    return {false, "certificate revoked"};
  }
  if (static_cast<std::uint64_t>(now) >= credential.expires && credential.expires != kNoExpiry) {
    return {false, "certificate expired"};
  }
  return {true, "authorised by a certificate", Role::kAgent};
}

AuthVerdict decide_certificate(const Certificate& certificate, const AuthRequest& request,
                               const KeySet& keys) {
  if (certificate.kind != Certificate::kUser) {
    return {false, "not a user's certificate"};
  }
  const AuthVerdict lasting = decide_certified(credential_of(certificate), request.now, keys);
  if (!lasting.granted) {
    return lasting;
  }
  const auto& principals = certificate.principals;
  // A certificate without principals is one for every box there is.
  if (defended("certificate-box") &&
      std::find(principals.begin(), principals.end(), keys.box_name) == principals.end()) {
    return {false,
            principals.empty() ? "certificate without principals" : "certificate for another box"};
  }
  if (certificate.valid_after > static_cast<std::uint64_t>(request.now) + kClockSkewSeconds) {
    return {false, "certificate not valid yet"};
  }
  if (certificate.has_unknown_option) {
    return {false, "certificate with a critical option that is not known"};
  }
  if (certificate.source_address && !certificate.source_address->allows(request.address)) {
    return {false, "address not allowed for this certificate"};
  }
  if (defended("ca-signature") &&
      !is_signed_by(certificate.authority, certificate.signed_bytes, certificate.signature)) {
    return {false, "certificate's signature is wrong"};
  }
  return lasting;
}

}  // namespace

const KeyEntry* KeySet::find(std::string_view fingerprint) const {
  const auto at = std::find_if(entries.begin(), entries.end(), [&](const KeyEntry& entry) {
    return entry.key.fingerprint() == fingerprint;
  });
  return at == entries.end() ? nullptr : &*at;
}

Credential credential_of(const Certificate& certificate) {
  return {certificate.key.fingerprint(), certificate.authority.fingerprint(), certificate.serial,
          escape_text(certificate.key_id), certificate.valid_before};
}

bool is_in_force(const Credential& credential, std::int64_t now, const KeySet& keys) {
  if (credential.is_certified()) {
    return decide_certified(credential, now, keys).granted;
  }
  const KeyEntry* entry = keys.find(credential.key);
  return entry != nullptr && !(entry->expires && now >= *entry->expires) &&
         !keys.revoked.names_key(credential.key);
}

AuthVerdict decide_auth(const AuthRequest& request, const KeySet& keys) {
  if (request.user != kLoginUser) {
    return {false, "the login name is not agent"};
  }
  if (request.certificate != nullptr) {
    return decide_certificate(*request.certificate, request, keys);
  }
  if (request.fingerprint.empty()) {
    return {false, "key type not accepted"};
  }
  return decide_key(request.fingerprint, request.address, request.now, keys);
}

AuthVerdict decide_still(const Credential& credential, const Address& address, std::int64_t now,
                         const KeySet& keys) {
  return credential.is_certified() ? decide_certified(credential, now, keys)
                                   : decide_key(credential.key, address, now, keys);
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

bool goes_back(std::uint64_t generation, std::uint64_t highest) {
  return defended("key-generation") && generation < highest;
}

RequestVerdict decide_request(RequestKind kind, std::string_view name, bool started) {
  if (!defended("request-list")) {
    return {!started, ""};
  }
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

record::Start plan_session(std::string session, std::string key, Role role, Profile profile,
                           std::uint64_t generation, const std::vector<std::string>& passed,
                           std::string isolation) {
  record::Start start;
  start.session = std::move(session);
  start.role = role_name(role);
  start.profile = profile_name(profile);
  start.key = std::move(key);
  start.generation = generation;
  start.isolation = std::move(isolation);
  for (const std::string& pair : passed) {
    start.environment.push_back(escape_text(pair));
  }
  return start;
}

}  // namespace agentbox::sshd
