// edge: the supervisor of one local box: keeps the door and the box side running until it is told
// to stop. Where kubelet looks after a pod, this looks after a box on a plain machine.
#pragma once

#include "provision/answer.h"
#include "provision/name.h"
#include "provision/state.h"

namespace agentbox::provision {

/// Runs until SIGTERM (or SIGINT). Whatever way it ends, nothing it started lives on.
[[nodiscard]] Done supervise(const Store& store, const BoxName& name);

}  // namespace agentbox::provision
