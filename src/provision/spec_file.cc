// pure: see spec_file.h.
#include "provision/spec_file.h"

#include "base/yaml.h"

namespace agentbox::provision {
namespace {

std::vector<std::string> keys_in(const YamlMap& map) {
  std::vector<std::string> names;
  for (const char* name :
       {"door_image", "image", "size", "cpu", "memory", "storage_class", "runtime_class", "egress",
        "egress_to", "gateway_namespace", "gateway_pods", "retain_data", "labels", "annotations"}) {
    if (map.has(name)) {
      names.emplace_back(name);
    }
  }
  return names;
}

Status read_cluster(YamlMap map, kube::KubeSpec& spec) {
  std::string egress(kube::text_of(spec.egress));
  map.text("door_image", spec.door_image);
  map.text("image", spec.image);
  map.text("size", spec.size);
  map.text("cpu", spec.cpu);
  map.text("memory", spec.memory);
  map.text("storage_class", spec.storage_class);
  map.text("runtime_class", spec.runtime_class);
  map.choice("egress", egress, {"none", "dns", "internet", "list"});
  map.texts("egress_to", spec.egress_to);
  map.text("gateway_namespace", spec.gateway_namespace);
  map.text("gateway_pods", spec.gateway_pods);
  map.boolean("retain_data", spec.retain_data);
  map.texts("labels", spec.labels);
  map.texts("annotations", spec.annotations);
  AB_CHECK(map.finish());
  AB_TRY(parsed, kube::parse_egress(egress));
  spec.egress = parsed;
  return {};
}

}  // namespace

Result<SpecFile> parse_spec_file(std::string_view text) {
  AB_TRY(map, YamlMap::parse(text));
  SpecFile file;
  map.texts("keys", file.keys);
  map.texts("user_cas", file.user_cas);
  map.text("identity", file.identity);
  map.text("workspace", file.workspace);
  map.choice("isolation", file.isolation, {"bubblewrap", "none"});
  map.choice("profile", file.profile, {"core", "standard", "full"});
  map.text("gateway", file.gateway);
  map.text("gateway_address", file.gateway_address);
  map.text("gateway_host_key", file.gateway_host_key);
  YamlMap cluster = map.map("kubernetes");
  file.named = keys_in(cluster);
  AB_CHECK(read_cluster(std::move(cluster), file.cluster));
  AB_CHECK(map.finish());
  return file;
}

}  // namespace agentbox::provision
