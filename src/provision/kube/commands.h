// edge: agentbox-provision with --kubernetes.
#pragma once

#include <optional>

#include "provision/command.h"
#include "provision/report.h"
#include "provision/state.h"

namespace agentbox::provision::kube {

/// INVOCATION names a cluster. STATE is where this machine keeps what it knows.
[[nodiscard]] Answer<Report> run_in_cluster(const Invocation& invocation, const Store& state);

/// The objects that create would apply; the private key is not in them.
[[nodiscard]] Answer<Report> render(const Render& command, const std::string& ns);
/// What `template render` and `pool render` print; nothing: the command is none of them.
[[nodiscard]] std::optional<Answer<Report>> render_pools(const Command& command,
                                                         const std::string& ns);
/// The admission policy that lets some accounts alone change who may enter boxes.
[[nodiscard]] Answer<Report> render_guard(const RenderGuard& command);
/// The Role that some commands need.
[[nodiscard]] Answer<Report> show_role(const ShowRole& command, const std::string& ns);

}  // namespace agentbox::provision::kube
