// pure: an admission policy that lets nobody but the provisioner change who may enter boxes.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace agentbox::provision::kube {

/// The controller as its own manifests install it: it carries annotations on to pods.
inline constexpr const char* kControllerAccount =
    "system:serviceaccount:agent-sandbox-system:agent-sandbox-controller";

/// A user as the API server names it: no control characters, at most 253 bytes. `NAMESPACE:NAME`
/// of a service account is written out.
[[nodiscard]] Result<std::string> parse_account(std::string_view text);

/// A ValidatingAdmissionPolicy and its binding for each kind that carries our annotations: pods,
/// Sandboxes, claims and templates. ACCOUNTS may change them; CONTROLLER may on pods and Sandboxes,
/// where it carries on what claims and Sandboxes say. All have passed parse_account().
[[nodiscard]] std::vector<OrderedJson> guard(const std::vector<std::string>& accounts,
                                             const std::string& controller);

}  // namespace agentbox::provision::kube
