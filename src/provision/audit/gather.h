// edge: gathers what an audit judges of a local box. Changes nothing but, with LIVE, the box's
// audit log, which tells of each trial.
#pragma once

#include "provision/answer.h"
#include "provision/audit/facts.h"
#include "provision/local.h"

namespace agentbox::provision::audit {

[[nodiscard]] Answer<BoxFacts> gather(const LocalBackend& backend, const BoxName& name, bool live);

}  // namespace agentbox::provision::audit
