// edge: connects to a box and tries each thing that must be refused.
#pragma once

#include <vector>

#include "provision/audit/facts.h"
#include "provision/box.h"

namespace agentbox::provision::audit {

/// Every trial, each on a connection of its own. Those behind a login are not tried where the
/// private key is not known here. What the door grants is given back at once; the audit log of the
/// box tells of each.
[[nodiscard]] std::vector<Trial> try_refusals(const BoxRecord& record);

}  // namespace agentbox::provision::audit
