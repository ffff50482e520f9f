// edge: the host key of a door that nobody could give one: made at its first start and kept in its
// state folder.
#pragma once

#include "base/result.h"
#include "sshd/config.h"

namespace agentbox::sshd {

/// Makes the host key of CONFIG, which with_own_host_key() has made, unless the state folder holds
/// one for this very box: 0600, on the disk before its owner's name is. A folder that was another
/// box's (a cloned volume) gets a new key, and its highest generation of keys is forgotten: the
/// boxes count on their own. A key that is there but cannot be used is left: the start then fails.
[[nodiscard]] Status settle_own_host_key(const Config& config);

}  // namespace agentbox::sshd
