// pure: what lies around a pod in a cluster and must not be reached from it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "provision/kube/sandbox_facts.h"
#include "provision/neighbours.h"

namespace agentbox::provision::kube {

struct ApiAddress {
  std::string host;  ///< as the operator reaches it; counts where it is a numeric address
  std::uint16_t port = 0;
};

/// The cluster's API, the clouds' metadata services, the kubelet of the node that the box of FACTS
/// runs on, and another box: as far as PODS, all those that are ours, and NAMESERVERS, those that
/// the box sees, tell their addresses.
[[nodiscard]] std::vector<Neighbour> neighbours_of(const SandboxFacts& facts,
                                                   const std::vector<Json>& pods,
                                                   const ApiAddress& api,
                                                   const std::vector<std::string>& nameservers);

}  // namespace agentbox::provision::kube
