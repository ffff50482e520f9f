// pure: the three questions of the door on one page: who may log in, what a client may ask for,
// and what every session then becomes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.h"
#include "sshd/authorized_keys.h"
#include "sshd/config.h"
#include "sshd/revoked.h"

namespace agentbox::sshd {

/// The one login name; a second one would only be a second way to be wrong.
inline constexpr std::string_view kLoginUser = "agent";
/// The one subsystem.
inline constexpr std::string_view kMcpSubsystem = "mcp";

/// Who may enter, as the key files said when they were last read.
struct KeySet {
  std::vector<KeyEntry> entries;
  Revoked revoked;
  std::uint64_t generation = 0;

  [[nodiscard]] const KeyEntry* find(std::string_view fingerprint) const;
};

/// Whether FINGERPRINT's key still counts, wherever its owner may be now: listed, not revoked, not
/// expired.
[[nodiscard]] bool is_in_force(std::string_view fingerprint, std::int64_t now, const KeySet& keys);

struct AuthRequest {
  std::string_view user;
  std::string_view fingerprint;  ///< of a key that parsed; empty where it did not
  Address address;
  std::int64_t now = 0;  ///< Unix seconds
};

/// The key that opens the door, or why none does. The reason is for the audit, never for the
/// client.
struct AuthVerdict {
  const KeyEntry* entry = nullptr;  ///< into the KeySet asked
  std::string_view reason;
};
[[nodiscard]] AuthVerdict decide_auth(const AuthRequest& request, const KeySet& keys);

/// Everything a client can ask of a channel. What is not listed has no callback and is refused by
/// the library; a new kind in a later library therefore starts out refused.
enum class RequestKind : std::uint8_t { kShell, kExec, kSubsystem, kPty, kEnv, kSignal, kOther };
[[nodiscard]] std::string_view request_name(RequestKind kind);

struct RequestVerdict {
  bool starts_session = false;
  std::string_view reason;  ///< why not
};
/// NAME is the subsystem's, and decides nothing else. STARTED: this channel has its session.
[[nodiscard]] RequestVerdict decide_request(RequestKind kind, std::string_view name, bool started);

/// What M tells the box's spawner for a session of ENTRY's key. No word of the client's is in it:
/// the type has no place for one. PASSED holds NAME=value pairs of the door's own environment.
[[nodiscard]] record::Start plan_session(std::string session, const KeyEntry& entry,
                                         std::uint64_t generation,
                                         const std::vector<std::string>& passed);

}  // namespace agentbox::sshd
