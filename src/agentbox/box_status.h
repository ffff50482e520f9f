// edge: how the box is, in the words of its status resource.
#pragma once

#include "agentbox/box.h"
#include "agentbox/call_history.h"
#include "agentbox/settings.h"
#include "base/json.h"

namespace agentbox::mcp {

/// Health, uptime, counts, versions, and what of the proposed standard for sandboxes is there.
[[nodiscard]] OrderedJson box_status(Box& box, const CallHistory& history);

/// The variables that describe a sandbox to who is in it, and no others.
[[nodiscard]] OrderedJson sandbox_metadata(const Settings& settings);

}  // namespace agentbox::mcp
