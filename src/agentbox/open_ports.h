// edge: the ports that sockets of this network take connections or packets on, and whose they are.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string_view>
#include <vector>

#include "agentbox/outcome.h"
#include "agentbox/socket_table.h"

namespace agentbox::mcp {

/// Sockets that one call tells of.
inline constexpr std::size_t kMaxOpenPorts = 1000;

struct OwnedPort {
  std::string_view protocol;  ///< "tcp" or "udp"
  OpenPort port;
  pid_t pid = 0;  ///< the lowest of those that hold it; 0: none that we may look into
};

struct OpenPorts {
  std::vector<OwnedPort> ports;  ///< by port, then protocol and address
  bool incomplete = false;       ///< there are more, or not all processes were looked at
};

/// Those of TCP and of UDP, as wanted. Sockets are seen whoever in this network namespace made
/// them; owners only among the processes that /proc shows and lets us look into.
[[nodiscard]] Outcome<OpenPorts> find_open_ports(bool tcp, bool udp,
                                                 const std::function<bool()>& cancelled);

}  // namespace agentbox::mcp
