// edge: tries from inside a box what must not answer there.
#pragma once

#include <vector>

#include "provision/backend.h"
#include "provision/checks.h"
#include "provision/mcp_client.h"

namespace agentbox::provision {

/// The checks on the network of the box NAME, tried by its own agent-box over SESSION; none for a
/// box that has no network of its own. Skipped, with the reason, where it cannot be tried.
[[nodiscard]] std::vector<CheckDone> try_network(const Backend& backend, const BoxName& name,
                                                 McpClient& session);

}  // namespace agentbox::provision
