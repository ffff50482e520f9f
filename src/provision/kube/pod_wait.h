// edge: waiting for an object that is ready once its pod is, with an eye on that pod.
#pragma once

#include <functional>
#include <string>

#include "provision/kube/client.h"

namespace agentbox::provision::kube {

/// Like Client::wait, for the object NAME. Meanwhile its pod, of the name that POD gives, is looked
/// at once a second: what keeps it from running is logged when it is first seen, and is the Failure
/// once it has not passed for kTroubleTime. Needs the rights to list and watch both.
inline constexpr std::chrono::seconds kTroubleTime{10};
[[nodiscard]] Done wait_minding_pod(Client& client, const Resource& resource,
                                    const std::string& name,
                                    const std::function<std::string()>& pod,
                                    const Client::Judge& judge, Client::Deadline deadline);

}  // namespace agentbox::provision::kube
