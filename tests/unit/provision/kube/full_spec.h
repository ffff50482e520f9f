// pure: a box in a cluster with every setting.
#pragma once

#include <string>

#include "provision/kube/manifests.h"

namespace agentbox::provision::kube {

inline KubeSpec full_spec() {
  KubeSpec spec;
  spec.door_image = "images.example/agentbox-door@sha256:" + std::string(64, 'a');
  spec.image = "images.example/tools:7";
  spec.size = "20Gi";
  spec.cpu = "2500m";
  spec.memory = "4Gi";
  spec.storage_class = "fast";
  spec.runtime_class = "gvisor";
  spec.egress = Egress::kList;
  spec.egress_to = {"192.0.2.0/24", "169.254.0.0/16", "2001:db8::/32"};
  return spec;
}

}  // namespace agentbox::provision::kube
