// pure: the file of create -f.
#include "provision/spec_file.h"

#include "base/handle.h"
#include "support/catch.h"

using namespace agentbox::provision;

TEST_CASE("a spec with every key") {
  const auto file =
      parse_spec_file("keys: [a.pub, b.pub]\nidentity: id\nworkspace: /w\nisolation: none\n");
  REQUIRE(file.ok());
  CHECK(file->keys == std::vector<std::string>{"a.pub", "b.pub"});
  CHECK(file->identity == "id");
  CHECK(file->workspace == "/w");
  CHECK(file->isolation == "none");
}

TEST_CASE("an empty spec is a box as it comes") {
  const auto file = parse_spec_file("");
  REQUIRE(file.ok());
  CHECK(file->keys.empty());
  CHECK(file->isolation == "bubblewrap");
}

TEST_CASE("a misspelt key and an unknown value are errors, not defaults") {
  CHECK_FALSE(parse_spec_file("isolaton: none\n").ok());
  CHECK_FALSE(parse_spec_file("isolation: off\n").ok());
  CHECK_FALSE(parse_spec_file("keys: one.pub: x\n").ok());
  CHECK_FALSE(parse_spec_file("keys: {one.pub: x}\n").ok());
  CHECK_FALSE(parse_spec_file("keys: one.pub\n").ok());
  CHECK_FALSE(parse_spec_file("- a\n").ok());
}

TEST_CASE("the example has every key, each at its default") {
  const std::string path = std::string(AGENTBOX_SOURCE_DIR) + "/config/provision.example.yaml";
  const auto text = agentbox::read_file_capped(path, 1U << 16U);
  REQUIRE(text.ok());
  for (const std::string key : {"keys:",
                                "identity:",
                                "workspace:",
                                "isolation:",
                                "kubernetes:",
                                "  door_image:",
                                "  image:",
                                "  size:",
                                "  cpu:",
                                "  memory:",
                                "  storage_class:",
                                "  runtime_class:",
                                "  egress:",
                                "  egress_to:",
                                "gateway:",
                                "gateway_address:",
                                "gateway_host_key:",
                                "  gateway_namespace:",
                                "  gateway_pods:",
                                "  retain_data:",
                                "  labels:",
                                "  annotations:"}) {
    CAPTURE(key);
    CHECK(text->find("\n" + key) != std::string::npos);
  }
  const auto file = parse_spec_file(*text);
  REQUIRE(file.ok());
  const SpecFile defaults;
  CHECK(file->keys == defaults.keys);
  CHECK(file->identity == defaults.identity);
  CHECK(file->workspace == defaults.workspace);
  CHECK(file->isolation == defaults.isolation);
  CHECK(file->cluster.door_image == defaults.cluster.door_image);
  CHECK(file->cluster.image == defaults.cluster.image);
  CHECK(file->cluster.size == defaults.cluster.size);
  CHECK(file->cluster.cpu == defaults.cluster.cpu);
  CHECK(file->cluster.memory == defaults.cluster.memory);
  CHECK(file->cluster.egress == defaults.cluster.egress);
  CHECK(file->gateway == defaults.gateway);
  CHECK(file->gateway_address == defaults.gateway_address);
  CHECK(file->gateway_host_key == defaults.gateway_host_key);
  CHECK(file->cluster.gateway_namespace == defaults.cluster.gateway_namespace);
  CHECK(file->cluster.gateway_pods == defaults.cluster.gateway_pods);
  // What is said of a pod is noticed, also where it is the default.
  std::size_t lines = 0;
  for (auto at = text->find("\n  ", text->find("kubernetes:")); at != std::string::npos;
       at = text->find("\n  ", at + 1)) {
    ++lines;
  }
  CHECK(file->named.size() == lines);
  CHECK(parse_spec_file("kubernetes: {egress: none}")->named == std::vector<std::string>{"egress"});
  CHECK(parse_spec_file("keys: []")->named.empty());
}

TEST_CASE("a spec for a cluster") {
  const auto file = parse_spec_file(
      "kubernetes: {image: tools, egress: list, egress_to: [192.0.2.0/24], size: 2Gi}\n");
  REQUIRE(file.ok());
  CHECK(file->cluster.image == "tools");
  CHECK(file->cluster.egress == kube::Egress::kList);
  CHECK(file->cluster.egress_to == std::vector<std::string>{"192.0.2.0/24"});
  CHECK_FALSE(parse_spec_file("kubernetes: {imagee: x}\n").ok());
  CHECK_FALSE(parse_spec_file("kubernetes: {egress: some}\n").ok());
  CHECK_FALSE(parse_spec_file("kubernetes: x\n").ok());
}
