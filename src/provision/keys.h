// edge: keys of a box: reading those that are given, making those that are not, and putting them
// where the door reads them.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/ssh_key.h"
#include "provision/account.h"
#include "provision/answer.h"
#include "provision/box.h"
#include "provision/paths.h"

namespace agentbox::provision {

/// A key file is a few lines; more is a mistake.
inline constexpr std::size_t kMaxKeyFileBytes = 64U << 10U;

/// The public keys of FILE, one a line; comments and blank lines are skipped. A private key, or a
/// line that parse_key_line() refuses, is refused whole. WITH_IDENTITY: the command could use the
/// private key itself, with --identity.
[[nodiscard]] Answer<std::vector<NamedKey>> read_public_keys(const std::string& file,
                                                             bool with_identity = false);

/// The same of a file with the public keys of CAs, which have no roles.
[[nodiscard]] Answer<std::vector<NamedKey>> read_authorities(const std::string& file);

/// A private key that the client uses itself: FILE's absolute path and its public half. Refused
/// where ssh would not use it without asking (a passphrase, a mode others can read).
struct Identity {
  std::string file;
  NamedKey key;
};
[[nodiscard]] Answer<Identity> read_identity(const std::string& file);

/// The private key at PATH for a login; Code::kNotFound where the file is gone.
[[nodiscard]] Result<SecretText> read_private_key(const std::string& path);

/// The key at PATH, made where there is none yet: 0600, OWNER's; a file that is there is never
/// replaced. COMMENT becomes its label.
[[nodiscard]] Answer<NamedKey> ensure_private_key(const std::string& path,
                                                  const SpawnPlan::Identity& owner,
                                                  const std::string& comment);

/// Writes authorized_keys, generation, revoked, user_ca and box_name of RECORD below FOLDER as a
/// mounted volume has them: in a folder of their own behind the link `..data`, which is switched in
/// one step. Lines of revoked that RECORD does not know are kept.
[[nodiscard]] Status publish_keys(const std::string& folder, const BoxRecord& record);

/// The names and texts of the files that publish_keys() writes.
using KeyFiles = std::array<std::pair<std::string, std::string>, 5>;
[[nodiscard]] KeyFiles key_files(const BoxRecord& record);

/// A line of the door's revoked file that locks a certificate out.
[[nodiscard]] std::string revoked_line(std::uint64_t serial);

}  // namespace agentbox::provision
