// pure: the door's configuration: YAML text to a value whose every field has been checked.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/profile.h"
#include "base/result.h"

namespace agentbox::sshd {

/// Bounds of the door; each is a key of `limits:`.
struct Limits {
  /// Connections at once. One process each, about half a MiB.
  std::uint64_t connections = 512;
  /// Connections at once that have not logged in; past it the oldest of them goes.
  std::uint64_t unauthenticated = 256;
  /// The same for connections from this machine's own addresses, which code in the box can make; 0
  /// switches it off (with a local box every honest client is one).
  std::uint64_t own_unauthenticated = 4;
  /// Sessions at once on one connection (ControlMaster).
  std::uint64_t channels_per_connection = 16;
  /// A refused offer of a key costs 1, a bad signature 5; at this many the connection ends.
  std::uint64_t login_points = 20;
  std::chrono::seconds login_grace{10};
  /// An authenticated connection without a session is closed after this: gateways leak them.
  std::chrono::seconds idle{60};
  /// A silent client is asked this often whether it is there.
  std::chrono::seconds keepalive{60};
  /// Unanswered questions after which the link counts as lost.
  std::uint64_t keepalive_misses = 3;
  /// On SIGTERM running calls get this long.
  std::chrono::seconds drain{20};
};

/// What becomes of who logged in with a certificate when it expires.
enum class CertificateExpiry : std::uint8_t {
  kEndSessions,   ///< the connection is closed, and the jobs of a key without another way in end
  kKeepSessions,  ///< open sessions and jobs go on; no new session begins
};

enum class KeysTrust : std::uint8_t {
  kStrict,  ///< the key files must be out of everybody else's reach
  kAny,     ///< a named weakening: whoever can write the files decides who enters
};

struct Config {
  std::string listen_address = "::";  ///< numeric; `::` takes IPv4 too
  std::uint16_t port = 2222;
  std::string host_key = "/agentbox/hostkey/ssh_host_ed25519_key";
  std::string keys_dir = "/agentbox/keys";  ///< authorized_keys, generation, revoked, user_ca...
  KeysTrust keys_trust = KeysTrust::kStrict;
  CertificateExpiry certificate_expiry = CertificateExpiry::kEndSessions;
  /// Highest key generation seen, audit head; must exist, the door's own.
  std::string state_dir = "/agentbox/state";
  std::string link_socket = "/agentbox/link/door.sock";
  std::uint32_t box_uid = 1000;       ///< the only user that may dial the link
  std::string audit_sink = "stdout";  ///< or an absolute path
  std::string log_format = "json";    ///< or text
  /// How many tools a session offers whose key names no profile itself.
  Profile profile = Profile::kStandard;
  std::vector<std::string> pass_env;  ///< names of the door's variables that commands get
  /// Asked for on the command line: the host key is made here, and host_key is where.
  bool own_host_key = false;
  /// The version of libssh's package whose fixes the operator has looked at and vouches for.
  std::string libssh_backports_acknowledged;
  Limits limits;
};

/// CONFIG with a host key of the door's own making, in its state folder.
[[nodiscard]] Config with_own_host_key(Config config);

/// A configuration longer than this is a mistake.
inline constexpr std::size_t kMaxConfigBytes = 1U << 20U;

/// Reads the configuration; what is missing keeps its default. Errors name the line and the key.
[[nodiscard]] Result<Config> parse_config(std::string_view text);

/// True for a variable name that may be passed on: a POSIX name that is neither the door's own
/// (AGENTBOX_*) nor one the loader or shell obeys before the command does (LD_*, BASH_ENV, ENV).
[[nodiscard]] bool may_pass_env(std::string_view name);

}  // namespace agentbox::sshd
