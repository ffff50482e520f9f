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
#include "sshd/certificate.h"
#include "sshd/config.h"
#include "sshd/revoked.h"

namespace agentbox::sshd {

/// The one login name; a second one would only be a second way to be wrong.
inline constexpr std::string_view kLoginUser = "agent";
/// The one subsystem.
inline constexpr std::string_view kMcpSubsystem = "mcp";

/// A certificate counts from this much before its beginning on: its CA's clock may be ahead of
/// ours. Its end is kept to the second, for that is what was promised to whoever asked for it.
inline constexpr std::uint64_t kClockSkewSeconds = 60;

/// Who may enter, as the key files said when they were last read.
struct KeySet {
  std::vector<KeyEntry> entries;
  std::vector<PublicKey> authorities;  ///< CAs whose certificates for box_name count
  std::string box_name;                ///< empty: no certificate counts
  Revoked revoked;
  std::uint64_t generation = 0;

  [[nodiscard]] const KeyEntry* find(std::string_view fingerprint) const;
};

/// What opened the door for a client: a key alone, or one with a certificate. Of a certificate it
/// is what can change while the client is logged in, small enough for a record: the rest was
/// verified at the login and stays true.
struct Credential {
  std::string key;        ///< SHA256:... fingerprint; a certificate's key as it is without one
  std::string authority;  ///< the CA's fingerprint; empty: a key alone, the rest means nothing
  std::uint64_t serial = 0;
  std::string key_id;         ///< escaped
  std::uint64_t expires = 0;  ///< Unix seconds; kNoExpiry: never

  [[nodiscard]] bool is_certified() const { return !authority.empty(); }
  auto operator<=>(const Credential&) const = default;
};
[[nodiscard]] Credential credential_of(const Certificate& certificate);

/// Whether CREDENTIAL still counts, wherever its owner may be now: a listed key, or a certificate
/// of a trusted CA; not revoked, not expired.
[[nodiscard]] bool is_in_force(const Credential& credential, std::int64_t now, const KeySet& keys);

/// Whether keys of GENERATION are older than ones that were in force: such are refused whole.
[[nodiscard]] bool goes_back(std::uint64_t generation, std::uint64_t highest);

struct AuthRequest {
  std::string_view user;
  std::string_view fingerprint;  ///< of a key that parsed; empty where it did not
  Address address;
  std::int64_t now = 0;  ///< Unix seconds
  /// Where a certificate was offered; its key is then never looked for among the listed ones.
  const Certificate* certificate = nullptr;
};

/// Whether the door opens, and what for. The reason is for the audit, never for the client.
struct AuthVerdict {
  bool granted = false;
  std::string_view reason;
  Role role = Role::kReader;            ///< where granted; of a certificate always agent
  std::optional<Profile> profile = {};  ///< where the key's line names one
};
/// Everything about a certificate is checked here, its CA's signature last: that is the one check
/// that costs. What cannot be checked here is that the client holds the key.
[[nodiscard]] AuthVerdict decide_auth(const AuthRequest& request, const KeySet& keys);
/// The same for a client that logged in with CREDENTIAL from ADDRESS: whether it may go on.
[[nodiscard]] AuthVerdict decide_still(const Credential& credential, const Address& address,
                                       std::int64_t now, const KeySet& keys);

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

/// What M tells the box's spawner for a session of the KEY with this fingerprint. No word of the
/// client's is in it: the type has no place for one. PASSED holds NAME=value pairs of the door's
/// own environment, ISOLATION what was read of its processes.
[[nodiscard]] record::Start plan_session(std::string session, std::string key, Role role,
                                         Profile profile, std::uint64_t generation,
                                         const std::vector<std::string>& passed,
                                         std::string isolation = {});

}  // namespace agentbox::sshd
