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

namespace {

// A claim of ours that has got the Sandbox warm-x9f2k.
Json claim(const Json& conditions = Json::array({condition("Ready", "True",
                                                           "DependenciesReady")})) {
  OrderedJson object = sandbox_claim(kName, "boxes", "warm", sample::kOtherKey);
  object.merge_patch(keys_part(in_claim("demo"), "boxes",
                               {{sample::key(std::string(sample::kKey) + " anna")}, {}, 7})
                         .value());
  Json json = parse_json(dump_json(object)).value();
  json["metadata"]["uid"] = "c-1";
  json["status"]["sandbox"]["name"] = "warm-x9f2k";
  json["status"]["conditions"] = conditions;
  return json;
}

// And that Sandbox.
Json claimed(const Json& conditions = Json::array({condition("Ready", "True",
                                                             "DependenciesReady")})) {
  const BoxName of = BoxName::parse("small").value();
  Json json = parse_json(dump_json(sandbox_of_template(of, "boxes", {}))).value();
  json["metadata"]["name"] = "warm-x9f2k";
  json["metadata"]["uid"] = "s-1";
  json["metadata"]["labels"] = Json::object();
  json["metadata"]["ownerReferences"][0] = {{"kind", "SandboxClaim"}, {"uid", "c-1"}};
  json["status"]["serviceFQDN"] = "warm-x9f2k.boxes.svc.cluster.local";
  json["status"]["conditions"] = conditions;
  return json;
}

Json pod_with(const Json& statuses) {
  Json pod;
  pod["metadata"]["ownerReferences"][0] = {{"kind", "Sandbox"}, {"uid", "s-1"}};
  pod["status"]["containerStatuses"] = statuses;
  return pod;
}

}  // namespace

TEST_CASE("claim: what is read back of it and of its Sandbox") {
  const Json got = claimed();
  const auto facts = read_claim(claim(), &got, kName, "boxes");
  REQUIRE(facts.ok());
  CHECK(facts->uid == "c-1");
  CHECK(facts->sandbox == "warm-x9f2k");
  CHECK(facts->sandbox_uid == "s-1");
  CHECK(facts->pool == "warm");
  CHECK(facts->pod == "warm-x9f2k");
  CHECK(facts->host == "warm-x9f2k.boxes.svc.cluster.local");
  CHECK(facts->host_key == sample::kOtherKey);
  CHECK(facts->keys.size() == 1);
  CHECK(facts->generation == 7);
  CHECK(facts->egress == "none");
  CHECK(facts->state == State::kRunning);
}

TEST_CASE("claim: H3-090 while there is a Sandbox, it says how the box is") {
  const Json never = claim(Json::array({condition("Ready", "False", "WarmPoolNotFound")}));
  const Json good = claimed();
  CHECK(read_claim(never, &good, kName, "boxes")->state == State::kRunning);
  const Json bad = claimed(Json::array({condition("Ready", "False", "PodFailed")}));
  CHECK(read_claim(claim(), &bad, kName, "boxes")->hopeless);
  const auto alone = read_claim(claim(), nullptr, kName, "boxes");
  REQUIRE(alone.ok());
  CHECK(alone->state == State::kPending);
  CHECK(alone->sandbox.empty());
  CHECK(alone->host.empty());
}

TEST_CASE("claim: what it waits for, and what it waits for in vain") {
  const auto state = [](const char* reason) {
    return claim_facts(claim(Json::array({condition("Ready", "False", reason)})));
  };
  for (const char* reason : {"InvalidMetadata", "EnvVarsInjectionRejected", "ClaimExpired",
                             "VolumeClaimTemplatesError", "PodFailed", "SandboxExpired"}) {
    CHECK(state(reason).hopeless);
  }
  for (const char* reason : {"ReconcilerError", "WarmPoolNotFound", "TemplateNotFound"}) {
    CHECK(state(reason).may_recover);
  }
  for (const char* reason : {"AdoptionConflict", "SandboxCreatePending", "SandboxNotReady"}) {
    CHECK(state(reason).state == State::kPending);
    CHECK_FALSE(state(reason).may_recover);
    CHECK(state(reason).reason == reason);
  }
  CHECK(claim_facts(Json()).state == State::kPending);
}

TEST_CASE("claim: one that is not finished has no host key, one with keys must have it") {
  Json fresh = parse_json(dump_json(sandbox_claim(kName, "boxes", "warm", ""))).value();
  const auto facts = read_claim(fresh, nullptr, kName, "boxes");
  REQUIRE(facts.ok());
  CHECK(facts->host_key.empty());
  CHECK(facts->generation == 0);
  Json without = claim();
  without["metadata"].erase("annotations");
  CHECK(read_claim(without, nullptr, kName, "boxes").error().exit == Exit::kRefused);
}

TEST_CASE("claim: somebody else's, or one with strange values, is refused") {
  const auto refused = [](const std::function<void(Json&, Json&)>& change) {
    Json mine = claim();
    Json got = claimed();
    change(mine, got);
    const auto facts = read_claim(mine, &got, kName, "boxes");
    return !facts.ok() && facts.error().exit == Exit::kRefused;
  };
  CHECK(refused([](Json& c, Json&) { c["metadata"].erase("labels"); }));
  CHECK(refused([](Json& c, Json&) { c["metadata"]["labels"][kBoxLabel] = "other"; }));
  CHECK(refused([](Json& c, Json&) { c["spec"]["warmPoolRef"]["name"] = "a b"; }));
  CHECK(refused([](Json& c, Json&) { c["status"]["sandbox"]["name"] = "x.evil"; }));
  CHECK(refused([](Json& c, Json&) { c["metadata"]["uid"] = "c-2"; }));
  CHECK(refused([](Json&, Json& s) { s["metadata"].erase("ownerReferences"); }));
  CHECK(refused([](Json&, Json& s) { s["status"]["serviceFQDN"] = "demo.boxes.svc.x"; }));
  CHECK(refused([](Json& c, Json&) {
    c["spec"]["additionalPodMetadata"]["annotations"][kKeysAnnotation] = "command=\"x\" y";
  }));
  CHECK(refused([](Json& c, Json&) {
    c["metadata"]["annotations"][kHostKeyAnnotation] = std::string(sample::kOtherKey) + "\n* x";
  }));
}

TEST_CASE("claim: which pod's log is that of its first start") {
  const auto door = [](const Json& restarts) {
    return pod_with(Json::array(
        {{{"name", "box"}, {"restartCount", 3}}, {{"name", "door"}, {"restartCount", restarts}}}));
  };
  CHECK(no_first_start(door(0), "s-1").empty());
  CHECK_FALSE(no_first_start(door(1), "s-1").empty());
  CHECK_FALSE(no_first_start(door("0"), "s-1").empty());
  CHECK_FALSE(no_first_start(door(0), "s-2").empty());
  CHECK_FALSE(no_first_start(pod_with(Json::array()), "s-1").empty());
  CHECK_FALSE(no_first_start(Json(), "s-1").empty());
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
    CHECK((what.second.find('/') == std::string::npos || what.second == "pods/log"));
    CHECK_FALSE(verbs.contains("*"));
  }
  CHECK(rights_of({"port-forward"})->size() == 1);
  CHECK_FALSE(rights_of({"create", "fly"}).ok());
}

TEST_CASE("rbac: who takes boxes from pools alone decides of no pod and sees no Secret") {
  const auto rights =
      rights_of({"create-from-pool", "status", "list-from-pool", "suspend", "resume",
                 "rotate-from-pool", "revoke-from-pool", "ca-from-pool", "delete-from-pool"});
  REQUIRE(rights.ok());
  CHECK_FALSE(rights->contains({"", "secrets"}));
  CHECK_FALSE(rights->at({"agents.x-k8s.io", "sandboxes"}).contains("create"));
  CHECK_FALSE(rights->at({"agents.x-k8s.io", "sandboxes"}).contains("delete"));
  CHECK(rights->at({"extensions.agents.x-k8s.io", "sandboxtemplates"}) ==
        std::set<std::string>{"get"});
}

TEST_CASE("rbac: verify needs what its steps need, and the addresses of pods") {
  CHECK(rights_of({"verify"}).value() ==
        rights_of({"create", "suspend", "resume", "delete", "call"}).value());
}

TEST_CASE("rbac: a Role has the union of what its commands need") {
  const OrderedJson made = role(rights_of({"status", "list"}).value(), "boxes");
  CHECK(dump_json(made["rules"]) ==
        R"([{"apiGroups":["agents.x-k8s.io"],"resources":["sandboxes"],"verbs":["get","list"]},)"
        R"({"apiGroups":["extensions.agents.x-k8s.io"],"resources":["sandboxclaims"],)"
        R"("verbs":["get","list"]}])");
  CHECK(made["metadata"]["namespace"] == "boxes");
}
