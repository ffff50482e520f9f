// edge: the users a local box runs as, and what they can reach.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/process.h"
#include "provision/answer.h"

namespace agentbox::provision {

inline constexpr const char* kDoorUser = "agentbox-door";
inline constexpr const char* kBoxUser = "agentbox";

/// Who the two sides run as. As an ordinary user both are that user; as root they are two system
/// users, so that neither side is root and the box side is not the door's user.
struct Accounts {
  SpawnPlan::Identity door;
  SpawnPlan::Identity box;
  bool separate = false;  ///< root: the identities have to be taken on

  [[nodiscard]] std::optional<SpawnPlan::Identity> to_become(const SpawnPlan::Identity& who) const {
    return separate ? std::optional(who) : std::nullopt;
  }
};

/// Refuses, with the command that makes them, where root lacks the two users.
[[nodiscard]] Answer<Accounts> find_accounts();

/// Whether WHO can do MODE (R_OK, W_OK, X_OK) with PATH; the Error names the folder in the way.
/// With SEPARATE false WHO is this process and nothing is taken on.
[[nodiscard]] Status can_reach(const SpawnPlan::Identity& who, bool separate,
                               const std::string& path, int mode);

}  // namespace agentbox::provision
