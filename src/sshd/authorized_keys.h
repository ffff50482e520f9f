// pure: the text of an authorized_keys file to entries; one bad line voids only itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/profile.h"
#include "base/public_key.h"
#include "base/result.h"
#include "base/role.h"
#include "sshd/address.h"

namespace agentbox::sshd {

/// A file longer than this is refused whole: it is read at every login.
inline constexpr std::size_t kMaxKeysFileBytes = 1U << 20U;
/// More keys than this share one box's trust; the rest of the file is refused with its line number.
inline constexpr std::size_t kMaxKeys = 1000;

/// One authorised key with everything that was said about it.
struct KeyEntry {
  PublicKey key;
  std::string label;  ///< the line's comment, escaped
  Role role = Role::kAgent;
  std::optional<Profile> profile;  ///< of the tools it is offered; nothing: as configured
  std::optional<FromList> from;
  std::optional<std::int64_t> expires;  ///< Unix seconds
  std::size_t line = 0;
};

/// Why a line counts for nothing.
struct KeyProblem {
  std::size_t line = 0;
  std::string what;
};

struct AuthorizedKeys {
  std::vector<KeyEntry> entries;
  std::vector<KeyProblem> problems;
};

/// Reads OpenSSH's format (sshd(8), AUTHORIZED_KEYS FILE FORMAT): options before the key, quotes,
/// CRLF, a BOM, tabs, comments, a missing last newline. Options that only restrict are accepted
/// (they are true here anyway); ones that widen give nothing; `from=`, `expiry-time=` (UTC),
/// `agentbox-role=` and `agentbox-profile=` hold; any other voids its line. A key given twice
/// counts once, with the first line's options.
[[nodiscard]] AuthorizedKeys parse_authorized_keys(std::string_view text);

/// `YYYYMMDD[HHMM[SS]][Z]`, in UTC, as Unix seconds.
[[nodiscard]] Result<std::int64_t> parse_expiry_time(std::string_view text);

}  // namespace agentbox::sshd
