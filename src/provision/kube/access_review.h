// edge: what we may do in a cluster, as the cluster says it.
#pragma once

#include <string>

#include "provision/kube/client.h"
#include "provision/kube/rbac.h"

namespace agentbox::provision::kube {

/// Those of RIGHTS that we do not have in the client's namespace, in words; empty: we have all.
[[nodiscard]] Answer<std::string> missing_rights(Client& client, const Rights& rights);

}  // namespace agentbox::provision::kube
