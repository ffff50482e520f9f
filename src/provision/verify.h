// edge: the loop that proves a box: over SSH alone, what a session wrote is there in the next one.
#pragma once

#include "provision/answer.h"
#include "provision/backend.h"
#include "provision/command.h"
#include "provision/report.h"

namespace agentbox::provision {

/// Absent box: create, use, suspend, resume, use, delete (kept with --keep). Present box: nothing
/// is created or deleted; its own random blob is removed after; suspended only with --suspend.
[[nodiscard]] Answer<Report> verify(const Backend& backend, const Verify& wanted);

}  // namespace agentbox::provision
