// edge: removes what half-made or half-removed boxes have left in a cluster.
#pragma once

#include "provision/answer.h"
#include "provision/command.h"
#include "provision/kube/client.h"
#include "provision/report.h"

namespace agentbox::provision::kube {

/// What is ours, belongs to a box without a Sandbox and without a pod, and is older than asked for:
/// younger, it may be a box that is just being made. Volumes that outlive their box are kept. What
/// a box leaves is found by its policy, the first of its objects and the last to go: nobody needs
/// the right to list Secrets.
[[nodiscard]] Answer<Report> collect_garbage(Client& client, const Gc& wanted);

}  // namespace agentbox::provision::kube
