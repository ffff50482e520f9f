// edge: `audit [NAME]`: what a security reviewer reads.
#pragma once

#include "provision/answer.h"
#include "provision/audit/paper.h"
#include "provision/command.h"
#include "provision/local.h"
#include "provision/report.h"

namespace agentbox::provision::audit {

/// The audit of one box, or of all. Exit::kCheckFailed where something is found that WANTED.fail_on
/// names.
[[nodiscard]] Answer<Report> audit(const LocalBackend& backend, const Audit& wanted);

/// PAPER in the form, and with the exit code, that WANTED asks for; written to its file where it
/// names one.
[[nodiscard]] Answer<Report> tell(const Paper& paper, const Audit& wanted);
/// A paper without boxes, of now.
[[nodiscard]] Paper new_paper();

}  // namespace agentbox::provision::audit
