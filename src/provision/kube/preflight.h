// edge: what a cluster lacks for boxes, found out without changing anything.
#pragma once

#include "provision/kube/client.h"
#include "provision/report.h"

namespace agentbox::provision::kube {

/// Is it reachable, does it serve Sandboxes, may we do what the commands do, and do the cluster's
/// own policies take what create would send (a server-side dry run). Exit::kCheckFailed where not.
[[nodiscard]] Answer<Report> preflight(Client& client);

}  // namespace agentbox::provision::kube
