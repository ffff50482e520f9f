// pure: what a pod says of why it does not get ready.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"

namespace agentbox::provision::kube {

/// What keeps POD (the JSON of a v1 Pod) from running, in the cluster's words, escaped, at most
/// 500 bytes of them; nothing where it is only on its way. It may pass by itself: a registry
/// answers again, a node gets room.
[[nodiscard]] std::optional<std::string> pod_trouble(const Json& pod);

}  // namespace agentbox::provision::kube
