// edge: the way from here to the door of a box in a cluster.
#pragma once

#include "provision/contact.h"
#include "provision/handoff.h"
#include "provision/kube/client.h"
#include "provision/kube/sandbox_facts.h"

namespace agentbox::provision::kube {

/// How a box is reached from where this runs.
enum class Way : std::uint8_t {
  kService,      ///< at its Service's name: from inside the cluster
  kPortForward,  ///< through the cluster's API
};

/// The one place that knows the ways: connects to the door of the box of FACTS, which must show
/// HOST_KEY. Code::kUnavailable with the cluster's words where the way is barred.
[[nodiscard]] Result<DoorLine> dial_door(Client& client, Way way, const SandboxFacts& facts,
                                         const PublicKey& host_key, Deadline deadline);

/// To the box of FACTS through its jump host, as its clients go: with the same ssh, key and pins.
/// Code::kUnavailable with ssh's own words where that leads nowhere.
[[nodiscard]] Result<DoorLine> dial_through_jump(const SshFacts& facts, const PublicKey& host_key,
                                                 Deadline deadline);

/// To GATEWAY itself, which stands for the box NAME.
[[nodiscard]] Result<DoorLine> dial_gateway(const BoxName& name, const Gateway& gateway,
                                            Deadline deadline);

}  // namespace agentbox::provision::kube
