// edge: looks for what is wrong with a local box, from outside and from inside. Changes nothing.
#pragma once

#include "provision/answer.h"
#include "provision/local.h"
#include "provision/mcp_client.h"
#include "provision/name.h"
#include "provision/report.h"

namespace agentbox::provision {

/// Every check of Suite::kDoctor that can be run; Exit::kCheckFailed where one fails.
[[nodiscard]] Answer<Report> doctor(const LocalBackend& backend, const BoxName& name);

/// Whether the box's clock, asked over SESSION, is this machine's.
[[nodiscard]] Answer<std::string> clocks_agree(McpClient& session);

}  // namespace agentbox::provision
