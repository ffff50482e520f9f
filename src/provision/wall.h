// edge: what a box must not see when looked at from inside.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "provision/box.h"
#include "provision/mcp_client.h"
#include "provision/state.h"

namespace agentbox::provision {

/// Places of the operator's and of this machine's that lie behind the wall of RECORD's box.
[[nodiscard]] std::vector<std::string> hidden_places(const Store& store, const BoxRecord& record);

/// Those of PLACES that a command in the box sees, and `processes of this machine` where it sees
/// such. What the box answers is hostile input: the words are escaped.
[[nodiscard]] Result<std::vector<std::string>> seen_from_inside(
    McpClient& session, const std::vector<std::string>& places);

}  // namespace agentbox::provision
