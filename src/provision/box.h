// pure: what is known of a box: what it shall be (spec) and what was decided for it (record), and
// box.json, in which both are kept.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/profile.h"
#include "base/public_key.h"
#include "base/result.h"
#include "base/role.h"
#include "provision/name.h"

namespace agentbox::provision {

/// box.json as this build writes it; a higher number is refused, never guessed at. Version 1 knew
/// neither former nor revoked keys, version 2 no certificates, version 3 no keys
/// revoked by their fingerprint alone, version 4 no profile, version 5 no roles.
inline constexpr std::uint64_t kRecordVersion = 6;
inline constexpr std::size_t kMaxRecordBytes = 1U << 20U;
/// Keys of one box; a file with more is a mistake.
inline constexpr std::size_t kMaxKeys = 256;
/// CAs whose certificates one box takes: the door's own bound.
inline constexpr std::size_t kMaxAuthorities = 100;
/// Certificates locked out of one box; those that have expired since could go.
inline constexpr std::size_t kMaxRevokedSerials = 2000;

struct NamedKey {
  PublicKey key;
  std::string label;         ///< the comment of its file, printable ASCII
  Role role = Role::kAgent;  ///< what it may do with the tools
};

/// A public key and its comment as label, escaped.
[[nodiscard]] NamedKey named(PublicKey key);

/// `[agentbox-role="ROLE" ]TYPE BASE64[ COMMENT]`, one line of an authorized_keys file. No other
/// option is taken: it would look as if it counted.
[[nodiscard]] Result<NamedKey> parse_key_line(std::string_view line);
/// The line that parse_key_line() reads, without its newline; the role of an agent goes without
/// saying.
[[nodiscard]] std::string key_line(const NamedKey& entry);
/// The fingerprints of KEYS, each once, with the roles that are not an agent's, sorted.
[[nodiscard]] std::vector<std::string> described(const std::vector<NamedKey>& keys);

enum class Isolation : std::uint8_t { kBubblewrap, kNone };
[[nodiscard]] std::string_view text_of(Isolation isolation);

/// What was asked for. Two equal specs are the same box.
struct BoxSpec {
  std::vector<NamedKey> keys;  ///< given with --key; empty and no identity: one is made
  std::string identity;        ///< private key of the client's own, or empty
  std::string workspace;       ///< folder of the operator's, or empty
  Isolation isolation = Isolation::kBubblewrap;
  /// CAs whose certificates for the box's name are taken. Asked for none, those that a box has are
  /// no difference: `ca trust` may have added them.
  std::vector<NamedKey> authorities = {};
  Profile profile = Profile::kStandard;  ///< of the tools that its sessions offer
};

/// What differs between a box that exists and what is asked for now, in words; empty: nothing.
[[nodiscard]] std::vector<std::string> differences(const BoxSpec& existing, const BoxSpec& wanted);

/// What the last finished command left: kCreating is a create that has not proven its key yet.
enum class Phase : std::uint8_t { kCreating, kRunning, kSuspended };

struct BoxRecord {
  BoxName name;
  Phase phase = Phase::kCreating;
  BoxSpec spec;
  std::vector<NamedKey> keys;     ///< who may enter now
  std::vector<NamedKey> former;   ///< dropped by a rotation, the newest last
  std::vector<NamedKey> revoked;  ///< locked out for good
  std::string identity_file;      ///< the client's private key, or empty where it is unknown
  std::string host_key;           ///< `ssh-ed25519 BASE64`, empty until made
  std::uint64_t generation = 1;
  std::uint16_t port = 0;                           ///< 0 until chosen
  std::vector<std::uint64_t> revoked_serials = {};  ///< certificates locked out for good
  /// Keys locked out for good of which no more is known: they were never listed here.
  std::vector<std::string> revoked_prints = {};
};

/// A box of which nothing is decided but its name.
[[nodiscard]] BoxRecord new_record(BoxName name);

/// The text of box.json.
[[nodiscard]] std::string render_record(const BoxRecord& record);
/// Strict: a text that this build could not have written is an Error that says where.
[[nodiscard]] Result<BoxRecord> parse_record(std::string_view text);

/// A path that may be stored, printed and quoted: absolute, UTF-8, without control characters, and
/// without `${`, which OpenSSH would replace in several options with no way to prevent it.
[[nodiscard]] Status check_path(std::string_view path);

}  // namespace agentbox::provision
