// edge: one process of the box as replies describe it.
#pragma once

#include "agentbox/box.h"
#include "agentbox/job_record.h"
#include "agentbox/processes.h"
#include "base/json.h"

namespace agentbox::mcp {

/// As process_list's schema has it.
[[nodiscard]] OrderedJson process_entry(const Box& box, const Processes& processes,
                                        const JobRecord& record);

}  // namespace agentbox::mcp
