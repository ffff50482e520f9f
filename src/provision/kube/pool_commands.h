// edge: `template` and `pool`: what warm pools are made from, and how many pods wait in them.
#pragma once

#include "provision/command.h"
#include "provision/kube/client.h"
#include "provision/kube/kube_spec.h"
#include "provision/report.h"

namespace agentbox::provision::kube {

/// What the boxes of a template shall be. Refused where OPTIONS name keys: a template has none.
[[nodiscard]] Answer<KubeSpec> template_spec(const CreateOptions& options);

[[nodiscard]] Answer<Report> run_template_command(Client& client, const TemplateCommand& command);
[[nodiscard]] Answer<Report> run_pool_command(Client& client, const PoolCommand& command);

}  // namespace agentbox::provision::kube
