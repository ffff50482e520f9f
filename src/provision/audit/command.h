// edge: `audit [NAME]`: what a security reviewer reads.
#pragma once

#include "provision/answer.h"
#include "provision/command.h"
#include "provision/local.h"
#include "provision/report.h"

namespace agentbox::provision::audit {

/// The audit of one box, or of all. Exit::kCheckFailed where something is found that WANTED.fail_on
/// names.
[[nodiscard]] Answer<Report> audit(const LocalBackend& backend, const Audit& wanted);

}  // namespace agentbox::provision::audit
