// edge: what is wrong with a box in a cluster: each hop from here to its tools by itself.
#pragma once

#include "provision/answer.h"
#include "provision/kube/backend.h"
#include "provision/report.h"

namespace agentbox::provision::kube {

/// Every check of Suite::kClusterDoctor that can be made; Exit::kCheckFailed where one fails.
[[nodiscard]] Answer<Report> doctor(const KubeBackend& backend, const BoxName& name);

}  // namespace agentbox::provision::kube
