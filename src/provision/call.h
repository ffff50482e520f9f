// edge: one tool of a box, called once.
#pragma once

#include "provision/answer.h"
#include "provision/backend.h"
#include "provision/command.h"
#include "provision/report.h"

namespace agentbox::provision {

/// The result as the box gave it; Exit::kFailed where it says that the tool failed.
[[nodiscard]] Answer<Report> call_tool(const Backend& backend, const Call& call);

}  // namespace agentbox::provision
