// edge: a wall that bubblewrap does not have: sockets without a file name.
#pragma once

namespace agentbox::provision {

/// From here on this process and all it starts reach no abstract unix socket of anybody else's.
/// Such sockets belong to the network, which a box shares with this machine: without this the agent
/// could talk to the operator's X server. True where the kernel can do it (Linux 6.12 and later).
[[nodiscard]] bool leave_abstract_sockets();

}  // namespace agentbox::provision
