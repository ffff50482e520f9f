// pure: tests of provision/kube/sandbox_facts and rbac.
#include "provision/kube/sandbox_facts.h"

#include <functional>

#include "provision/kube/manifests.h"
#include "provision/kube/rbac.h"
#include "support/catch.h"
#include "unit/provision/sample.h"

using namespace agentbox;
using namespace agentbox::provision;
using namespace agentbox::provision::kube;

namespace {

const BoxName kName = BoxName::parse("demo").value();

Json condition(const char* type, const char* status, const char* reason) {
  return {{"type", type}, {"status", status}, {"reason", reason}, {"message", ""}};
}

// A Sandbox of ours as the cluster has it, with one condition.
Json live(const Json& conditions = Json::array({condition("Ready", "True", "DependenciesReady")})) {
  OrderedJson object = sandbox(kName, "boxes", {}, sample::kOtherKey);
  object.merge_patch(
      sandbox_keys(kName, "boxes", {{sample::key(std::string(sample::kKey) + " anna")}, {}, 7})
          .value());
  Json json = parse_json(dump_json(object)).value();
  json["metadata"]["uid"] = "u-1";
  json["status"]["serviceFQDN"] = "demo.boxes.svc.cluster.local";
  json["status"]["conditions"] = conditions;
  return json;
}

SandboxFacts facts_of(const Json& json) { return read_sandbox(json, kName, "boxes").value(); }

}  // namespace

TEST_CASE("sandbox: what is read back") {
  const SandboxFacts facts = facts_of(live());
  CHECK(facts.uid == "u-1");
  CHECK(facts.state == State::kRunning);
  CHECK(facts.host == "demo.boxes.svc.cluster.local");
  CHECK(facts.host_key == sample::kOtherKey);
  REQUIRE(facts.keys.size() == 1);
  CHECK(facts.keys.front().label == "anna");
  CHECK(facts.generation == 7);
  CHECK(facts.pod == "demo");
  CHECK(facts.egress == "none");
}

TEST_CASE("sandbox: its state") {
  const auto state = [](const Json& conditions) { return facts_of(live(conditions)); };
  CHECK(state(Json::array()).state == State::kPending);
  CHECK(state(Json::array({condition("Ready", "False", "DependenciesNotReady")})).state ==
        State::kPending);
  CHECK(state(Json::array({condition("Ready", "False", "PodFailed")})).hopeless);
  CHECK(state(Json::array({condition("Ready", "False", "SandboxExpired")})).hopeless);
  CHECK(state(Json::array({condition("Ready", "False", "ReconcilerError")})).may_recover);
  CHECK_FALSE(state(Json::array({condition("Ready", "False", "ReconcilerError")})).hopeless);
  Json suspended = live(Json::array({condition("Suspended", "True", "PodTerminated")}));
  suspended["spec"]["operatingMode"] = "Suspended";
  CHECK(facts_of(suspended).state == State::kSuspended);
  suspended["status"]["conditions"] =
      Json::array({condition("Ready", "True", "DependenciesReady")});
  CHECK(facts_of(suspended).state == State::kPending);
  Json old = live();
  old["metadata"]["generation"] = 5;
  old["status"]["conditions"][0]["observedGeneration"] = 4;
  CHECK(facts_of(old).state == State::kPending);
  old["status"]["conditions"][0]["observedGeneration"] = 5;
  CHECK(facts_of(old).state == State::kRunning);
  Json deleted = live();
  deleted["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  CHECK(facts_of(deleted).being_deleted);
}

TEST_CASE("sandbox: somebody else's, or one with strange values, is refused") {
  const auto refused = [](const std::function<void(Json&)>& change) {
    Json json = live();
    change(json);
    const auto facts = read_sandbox(json, kName, "boxes");
    return !facts.ok() && facts.error().exit == Exit::kRefused;
  };
  CHECK(refused([](Json& j) { j["metadata"].erase("labels"); }));
  CHECK(refused([](Json& j) { j["metadata"]["labels"][kBoxLabel] = "other"; }));
  CHECK(refused([](Json& j) { j["status"]["serviceFQDN"] = "-oProxyCommand=x"; }));
  CHECK(refused([](Json& j) { j["status"]["serviceFQDN"] = "evil.example"; }));
  CHECK(refused([](Json& j) { j["metadata"]["annotations"][kHostKeyAnnotation] = "x"; }));
  CHECK(refused([](Json& j) {
    j["metadata"]["annotations"][kHostKeyAnnotation] = std::string(sample::kOtherKey) + "\n* x";
  }));
  CHECK(refused([](Json& j) {
    j["spec"]["podTemplate"]["metadata"]["annotations"][kKeysAnnotation] = "command=\"x\" y";
  }));
  CHECK(refused([](Json& j) {
    j["spec"]["podTemplate"]["metadata"]["annotations"][kRevokedAnnotation] = "SHA256:short\n";
  }));
  CHECK(refused([](Json& j) { j = Json::array(); }));
}

TEST_CASE("sandbox: the version that is needed") {
  CHECK(unsupported(Json::parse(R"({"versions":[{"version":"v1alpha1"},{"version":"v1beta1"}]})"))
            .empty());
  CHECK(unsupported(Json::parse(R"({"versions":[{"version":"v1alpha1"}]})")).find("v1alpha1") !=
        std::string::npos);
  CHECK_FALSE(unsupported(Json()).empty());
}

TEST_CASE("sandbox: the generation that a pod has") {
  CHECK(pod_generation(Json::parse(
            R"({"metadata":{"annotations":{"agentbox.internal/keys-generation":"7"}}})")) == 7);
  CHECK(pod_generation(Json::parse(
            R"({"metadata":{"annotations":{"agentbox.internal/keys-generation":"x"}}})")) == 0);
  CHECK(pod_generation(Json()) == 0);
}

TEST_CASE(
    "rbac: no command reads Secrets, runs anything in a pod, or names what is outside its "
    "namespace") {
  std::vector<std::string> all;
  for (const std::string_view name : commands_with_rights()) {
    if (name != "port-forward") {  // asked for by name, and nothing else is
      all.emplace_back(name);
    }
  }
  const auto rights = rights_of(all);
  REQUIRE(rights.ok());
  const auto& secrets = rights->at({"", "secrets"});
  CHECK_FALSE(secrets.contains("get"));
  CHECK_FALSE(secrets.contains("list"));
  CHECK_FALSE(secrets.contains("watch"));
  for (const auto& [what, verbs] : *rights) {
    CHECK(what.second.find('/') == std::string::npos);
    CHECK_FALSE(verbs.contains("*"));
  }
  CHECK(rights_of({"port-forward"})->size() == 1);
  CHECK_FALSE(rights_of({"create", "fly"}).ok());
}

TEST_CASE("rbac: a Role has the union of what its commands need") {
  const OrderedJson made = role(rights_of({"status", "list"}).value(), "boxes");
  CHECK(dump_json(made["rules"]) ==
        R"([{"apiGroups":["agents.x-k8s.io"],"resources":["sandboxes"],"verbs":["get","list"]}])");
  CHECK(made["metadata"]["namespace"] == "boxes");
}
