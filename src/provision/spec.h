// edge: what a box shall be, put together from the flags and the file of -f, with every key read
// and every path resolved. Nothing is changed by it: what it refuses is refused before anything
// happens.
#pragma once

#include "provision/answer.h"
#include "provision/box.h"
#include "provision/command.h"
#include "provision/kube/kube_spec.h"

namespace agentbox::provision {

struct WantedBox {
  BoxSpec spec;
  std::vector<NamedKey> keys;                 ///< spec.keys and the identity's public half
  kube::KubeSpec cluster;                     ///< what only a box in a cluster has; not checked yet
  std::vector<std::string> cluster_settings;  ///< what of it was asked for, by its keys in the file
};

[[nodiscard]] Answer<WantedBox> read_wanted_box(const CreateOptions& options);

}  // namespace agentbox::provision
