// pure: a box's Pod and NetworkPolicy as the cluster shows them, and what is wrong with them. Every
// word of theirs is escaped.
#pragma once

#include <string>

#include "base/json.h"
#include "provision/name.h"

namespace agentbox::provision::kube {

/// Why an image of POD cannot be had, in words; empty: none is missing.
[[nodiscard]] std::string image_problem(const Json& pod);

/// Why POD does not run as it should, in words; empty: it does. Images are not its matter.
[[nodiscard]] std::string pod_problem(const Json& pod);

/// Where POD runs and how often its containers were started again.
[[nodiscard]] std::string pod_words(const Json& pod);

/// Why POLICY is not one that shuts a pod with the labels of OBJECT (its metadata.labels) in and
/// leaves the door's port open; empty: it is.
[[nodiscard]] std::string policy_problem(const Json& policy, const Json& labels);

}  // namespace agentbox::provision::kube
