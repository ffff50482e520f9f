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
  std::string certificates_refused;  ///< why user_ca or box_name cannot be used, else empty
  bool present = false;              ///< authorized_keys exists
};

/// Reads FOLDER's authorized_keys, generation, revoked, user_ca and box_name: through its `..data`
/// link, so that all come from one projection of a mounted volume. A missing authorized_keys is an
/// empty set. An Error means that nobody may enter: a file that cannot be read whole, is no regular
/// file, or that somebody else could have written (under KeysTrust::kStrict); a revoked file with a
/// line that says nothing known. Where what a user_ca or box_name says makes no sense, no CA is
/// trusted and listed keys go on: those two can only let more in, never keep anybody out, and
/// whoever puts it right may be coming through this door. Never blocks.
[[nodiscard]] Result<LoadedKeys> load_keys(const std::string& folder, KeysTrust trust);

/// `NAMESPACE/NAME` of the pod that this is, from FOLDER's box_namespace and box_name; what is
/// missing is empty. An Error where a file cannot be trusted, as with load_keys().
[[nodiscard]] Result<std::string> read_own_name(const std::string& folder, KeysTrust trust);

/// A text that differs whenever load_keys() would read something else.
[[nodiscard]] std::string keys_signature(const std::string& folder);

}  // namespace agentbox::sshd
