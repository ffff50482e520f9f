// edge: lists what an audit judges of a namespace. Nothing is changed, no Secret is read.
#pragma once

#include "provision/answer.h"
#include "provision/command.h"
#include "provision/kube/client.h"
#include "provision/report.h"

namespace agentbox::provision::kube {

/// The audit of the namespace of CLIENT, or of the box that WANTED names there.
[[nodiscard]] Answer<Report> audit_namespace(Client& client, const Audit& wanted);

}  // namespace agentbox::provision::kube
