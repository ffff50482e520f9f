// edge: see dial.h.
#include "provision/kube/dial.h"

#include <cerrno>
#include <utility>

#include "provision/kube/manifests.h"

namespace agentbox::provision::kube {
namespace {

Result<DoorLine> through_service(const SandboxFacts& facts, const PublicKey& host_key,
                                 Deadline deadline) {
  if (facts.host.empty()) {
    return Error{Code::kUnavailable, "the cluster has not given the box a name yet"};
  }
  AB_TRY(client, SshClient::connect({facts.host, kDoorPort, host_key}, deadline));
  return DoorLine{nullptr, std::move(client)};
}

Result<DoorLine> through_api(Client& api, const SandboxFacts& facts, const PublicKey& host_key,
                             Deadline deadline) {
  auto forward = api.forward(facts.pod, kDoorPort);
  if (!forward.ok()) {
    const bool barred = forward.error().exit == Exit::kNoRights;
    return Error{Code::kUnavailable, forward.error().message, barred ? EACCES : 0};
  }
  auto carrier = std::make_shared<PortForward>(std::move(forward).value());
  AB_TRY(client, SshClient::connect_over(carrier->take_socket(), host_key, deadline));
  return DoorLine{std::move(carrier), std::move(client)};
}

}  // namespace

Result<DoorLine> dial_door(Client& client, Way way, const SandboxFacts& facts,
                           const PublicKey& host_key, Deadline deadline) {
  switch (way) {
    case Way::kService:
      return through_service(facts, host_key, deadline);
    case Way::kPortForward:
      return through_api(client, facts, host_key, deadline);
  }
  return Error{Code::kInvalid, "no such way"};
}

}  // namespace agentbox::provision::kube
