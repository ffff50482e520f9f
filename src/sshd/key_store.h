// edge: reads the key files of a folder, holds them to the trust rule, and notices changes.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sshd/config.h"
#include "sshd/policy.h"

namespace agentbox::sshd {

/// What a folder of keys says now.
struct LoadedKeys {
  KeySet keys;
  std::vector<KeyProblem> problems;  ///< lines of authorized_keys that count for nothing
  bool present = false;              ///< authorized_keys exists
};

/// Reads FOLDER's authorized_keys, generation and revoked: through its `..data` link, so that all
/// three come from one projection of a mounted volume. A missing authorized_keys is an empty set.
/// An Error means that nobody may enter: a file that cannot be read whole, is no regular file, or
/// that somebody else could have written (under KeysTrust::kStrict); a revoked file with a line
/// that says nothing known. Never blocks.
[[nodiscard]] Result<LoadedKeys> load_keys(const std::string& folder, KeysTrust trust);

/// A text that differs whenever load_keys() would read something else.
[[nodiscard]] std::string keys_signature(const std::string& folder);

}  // namespace agentbox::sshd
