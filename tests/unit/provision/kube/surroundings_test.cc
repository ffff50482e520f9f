// pure: tests of provision/kube/surroundings: which addresses a pod must not reach.
#include "provision/kube/surroundings.h"

#include <algorithm>

#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::provision;
using namespace agentbox::provision::kube;

namespace {

Json pod(const char* name, const char* phase, const char* pod_ip) {
  return Json{{"metadata", {{"name", name}}},
              {"status", {{"phase", phase}, {"hostIP", "10.0.0.7"}, {"podIP", pod_ip}}}};
}

const Neighbour* find(const std::vector<Neighbour>& all, const std::string& address) {
  const auto at = std::find_if(all.begin(), all.end(),
                               [&](const Neighbour& one) { return one.address == address; });
  return at == all.end() ? nullptr : &*at;
}

}  // namespace

TEST_CASE("surroundings: the API, metadata, the own node's kubelet and one other box that runs") {
  SandboxFacts facts;
  facts.pod = "demo";
  facts.egress = "none";
  const std::vector<Json> pods = {pod("demo", "Running", "10.244.0.5"),
                                  pod("late", "Pending", "10.244.0.6"), pod("odd", "Running", "x"),
                                  pod("other", "Running", "10.244.0.7")};
  const auto all = neighbours_of(facts, pods, {"203.0.113.9", 6443}, {"10.96.0.10"});
  REQUIRE(find(all, "10.96.0.1") != nullptr);
  CHECK(find(all, "10.96.0.1")->port == 443);
  REQUIRE(find(all, "203.0.113.9") != nullptr);
  CHECK(find(all, "203.0.113.9")->port == 6443);
  CHECK(find(all, "169.254.169.254") != nullptr);
  REQUIRE(find(all, "10.0.0.7") != nullptr);
  CHECK(find(all, "10.0.0.7")->check == CheckId::kKubeletHidden);
  CHECK(find(all, "10.244.0.7") != nullptr);
  CHECK(find(all, "10.244.0.5") == nullptr);
  CHECK(find(all, "10.244.0.6") == nullptr);
  CHECK(std::none_of(all.begin(), all.end(), [](const Neighbour& one) { return one.allowed; }));
}

TEST_CASE("surroundings: what the operator's own egress allows is marked") {
  SandboxFacts facts;
  facts.egress = "list 10.0.0.0/8";
  auto all = neighbours_of(facts, {}, {"203.0.113.9", 443}, {"10.96.0.10"});
  CHECK(find(all, "10.96.0.1")->allowed);
  CHECK_FALSE(find(all, "203.0.113.9")->allowed);
  facts.egress = "internet";
  all = neighbours_of(facts, {}, {"203.0.113.9", 443}, {"10.96.0.10"});
  CHECK_FALSE(find(all, "10.96.0.1")->allowed);
  CHECK(find(all, "203.0.113.9")->allowed);
  CHECK_FALSE(find(all, "169.254.169.254")->allowed);
  // From inside, this machine is another one, and a name could not be resolved.
  CHECK(find(neighbours_of(facts, {}, {"127.0.0.1", 6443}, {}), "127.0.0.1") == nullptr);
  CHECK(find(neighbours_of(facts, {}, {"api.example", 6443}, {}), "api.example") == nullptr);
}
