// edge: the audit's own look at a box's processes, in /proc.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "provision/audit/facts.h"

namespace agentbox::provision::audit {

/// What this user could see of a box's processes.
struct Seen {
  std::vector<ProcessFact> processes;
  std::vector<NamespaceFact> namespaces;
  std::string missing;  ///< what could not be looked at, and why; empty: nothing
};

/// DOOR is the monitor's pid, BOX that of the box side's outermost process; 0 where there is none.
[[nodiscard]] Seen look_at_processes(pid_t door, pid_t box);

}  // namespace agentbox::provision::audit
