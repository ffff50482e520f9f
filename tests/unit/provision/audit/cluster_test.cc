// pure: the audit of a namespace: each rule of clusters fires on its weakness, and on nothing else.
#include "provision/audit/cluster.h"

#include <functional>

#include "provision/audit/rules.h"
#include "provision/gateway.h"
#include "provision/kube/manifests.h"
#include "provision/kube/pipe.h"
#include "support/catch.h"
#include "unit/provision/kube/full_spec.h"
#include "unit/provision/sample.h"

using namespace agentbox;
using namespace agentbox::provision;
using namespace agentbox::provision::audit;

namespace {

constexpr std::int64_t kNow = 1'800'000'000;

Json plain(const OrderedJson& value) { return parse_json(dump_json(value)).value(); }

kube::KubeSpec sound_spec() {
  kube::KubeSpec spec = kube::full_spec();
  spec.image = "images.example/tools@sha256:" + std::string(64, 'b');
  return spec;
}

// A box NAME as it was made, with its pod and its policy.
void add_box(NamespaceFacts& facts, const std::string& text, const std::string& key) {
  const BoxName name = BoxName::parse(text).value();
  OrderedJson box = kube::sandbox(name, "boxes", sound_spec(), sample::kOtherKey);
  box.merge_patch(kube::sandbox_keys(name, "boxes", {{sample::key(key)}, {}, 3}).value());
  Json live = plain(box);
  live["metadata"]["managedFields"] = {
      {{"manager", kube::kKeysManager}, {"time", "2027-01-01T00:00:00Z"}}};
  Json pod = live["spec"]["podTemplate"];
  pod["metadata"]["name"] = text;
  pod["spec"]["volumes"].push_back({{"name", "data"}});
  facts.sandboxes.push_back(std::move(live));
  facts.pods.push_back(std::move(pod));
  facts.policies.push_back(plain(kube::network_policy(name, "boxes", sound_spec())));
}

NamespaceFacts sound() {
  NamespaceFacts facts;
  facts.ns = "boxes";
  facts.now = kNow;
  add_box(facts, "demo", sample::kKey);
  return facts;
}

std::string codes(const NamespaceFacts& facts) {
  std::string text;
  for (const BoxPaper& paper : describe_namespace(facts)) {
    for (const Finding& finding : paper.findings) {
      text += (text.empty() ? "" : " ") + std::string(rule_of(finding.rule).code);
    }
  }
  return text;
}

std::string after(const std::function<void(NamespaceFacts&)>& change) {
  NamespaceFacts facts = sound();
  change(facts);
  return codes(facts);
}

Json pipe_of(const std::string& host_key) {
  Gateway gateway = parse_gateway("sshpiper:boxes", "h").value();
  return plain(kube::pipe({BoxName::parse("demo").value(),
                           "boxes",
                           "u",
                           gateway,
                           "demo.boxes.svc",
                           host_key,
                           sample::kKey,
                           {sample::key(sample::kKey)}}));
}

}  // namespace

TEST_CASE("audit of a namespace: a sound one has no finding, and a part for each box and itself") {
  const auto papers = describe_namespace(sound());
  REQUIRE(papers.size() == 2);
  CHECK(papers[0].name == "demo");
  CHECK(papers[1].name == "namespace boxes");
  CHECK(codes(sound()).empty());
}

TEST_CASE("audit of a namespace: every rule of clusters is found by one of these") {
  NamespaceFacts facts = sound();
  facts.pods[0]["spec"]["automountServiceAccountToken"] = true;
  facts.pods[0]["spec"]["containers"][1]["image"] = "tools:7";
  facts.policies[0]["spec"]["policyTypes"] = {"Ingress"};
  facts.policies[0]["spec"]["ingress"][0]["from"] = {{{"namespaceSelector", Json::object()}},
                                                     {{"podSelector", Json::object()}}};
  facts.pipes.push_back(Json::object());
  facts.unseen.emplace_back("secrets: never");
  const std::string found = codes(facts);
  for (const Rule& rule : all_rules()) {
    CAPTURE(rule.code, found);
    CHECK((rule.code < "AB070" || found.find(rule.code) != std::string::npos));
  }
}

TEST_CASE("audit of a namespace: each weakness is told by its rule") {
  CHECK(after([](auto& f) { f.pods[0]["spec"]["automountServiceAccountToken"] = true; }) ==
        "AB070 AB075");
  CHECK(after([](auto& f) {
          f.pods.clear();
          f.sandboxes[0]["spec"]["podTemplate"]["spec"].erase("automountServiceAccountToken");
        }) == "AB070");
  CHECK(after([](auto& f) {
          f.pods[0]["spec"]["volumes"].push_back(
              {{"name", "t"}, {"projected", {{"sources", {{{"serviceAccountToken", 1}}}}}}});
        }) == "AB070 AB075");
  CHECK(after([](auto& f) { f.policies.clear(); }) == "AB071");
  CHECK(after([](auto& f) {
          f.policies[0]["spec"]["podSelector"]["matchLabels"]["agentbox.internal/box"] = "other";
        }) == "AB071");
  CHECK(after([](auto& f) {
          f.policies[0]["spec"]["ingress"][0]["from"] = {{{"namespaceSelector", Json::object()}},
                                                         {{"podSelector", Json::object()}}};
        }) == "AB072");
  CHECK(after([](auto& f) {
          f.policies[0]["spec"]["ingress"][0]["from"] = {
              {{"namespaceSelector", Json::object()}, {"podSelector", Json::object()}}};
        }).empty());
  CHECK(after([](auto& f) {
          f.pods.clear();
          f.sandboxes[0]["spec"]["podTemplate"]["spec"]["containers"][1]["image"] = "tools:7";
        }) == "AB074");
  CHECK(after([](auto& f) {
          f.pods[0]["spec"]["containers"].push_back({{"name", "spy"}, {"image", "x"}});
        }) == "AB075 AB074");
  CHECK(after([](auto& f) { f.unseen.emplace_back("pods: forbidden"); }) == "AB076");
  CHECK(after([](auto& f) {
          f.sandboxes[0]["metadata"]["annotations"]["agentbox.internal/host-key"] = "x";
        }) == "AB076");
}

TEST_CASE("audit of a namespace: keys over boxes, and keys that were never changed") {
  CHECK(after([](auto& f) { add_box(f, "other", sample::kKey); }) == "AB022 AB022");
  CHECK(after([](auto& f) { add_box(f, "other", sample::kOtherKey); }).empty());
  CHECK(after([](auto& f) { f.now += 400 * 86400; }) == std::string(rule_of(RuleId::kOldKey).code));
  CHECK(after([](auto& f) {
          f.now += 400 * 86400;
          f.sandboxes[0]["metadata"].erase("managedFields");
        }).empty());
}

TEST_CASE("audit of a namespace: Pipes, whoever made them") {
  CHECK(after([](auto& f) { f.pipes.push_back(pipe_of(sample::kOtherKey)); }).empty());
  CHECK(after([](auto& f) {
          Json pipe = pipe_of(sample::kOtherKey);
          pipe["spec"]["to"].erase("known_hosts_data");
          pipe["spec"]["from"][0]["username_regex_match"] = true;
          f.pipes.push_back(std::move(pipe));
        }) == "AB073 AB073");
  CHECK(after([](auto& f) { f.pipes.push_back(Json::object()); }) == "AB073 AB073");
}

TEST_CASE("audit of a namespace: what is not ours is left out, what is strange ends nothing") {
  CHECK(after([](auto& f) { f.sandboxes.push_back(Json::object()); }).empty());
  CHECK(after([](auto& f) { f.policies.push_back(Json::object()); }).empty());
  CHECK(after([](auto& f) { f.pods.push_back(Json(1)); }).empty());
}
