// pure: tests of provision/kube/manifests, kube_spec and yaml_text; the goldens lie in
// tests/golden.
#include "provision/kube/manifests.h"

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "base/handle.h"
#include "base/yaml.h"
#include "provision/kube/api.h"
#include "provision/kube/yaml_text.h"
#include "support/catch.h"
#include "unit/provision/kube/full_spec.h"
#include "unit/provision/sample.h"

using namespace agentbox;
using namespace agentbox::provision;
using namespace agentbox::provision::kube;

TEST_CASE("labels and annotations of a user's own steer nobody but the user") {
  CHECK(parse_label("team=blue").ok());
  CHECK(parse_label("example.org/team=").ok());
  CHECK(parse_label("app.kubernetes.io/part-of=x").ok());
  CHECK(parse_annotation("example.org/why=because it = so").ok());
  CHECK(parse_annotation("a=b=c")->value == "b=c");
  for (const char* text :
       {"agents.x-k8s.io/pod-name=billing-0", "extensions.agents.x-k8s.io/x=y",
        "agentbox.internal/authorized-keys=x", "sub.agentbox.internal/x=y", "k8s.io/x=y",
        "kubernetes.io/x=y", "node.kubernetes.io/x=y", "app.kubernetes.io/managed-by=me",
        "noequals", "=x", "/x=y", "a/b/c=d", "-a=b", "a b=c"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_label(text).ok());
    CHECK_FALSE(parse_annotation(text).ok());
  }
  CHECK_FALSE(parse_label("team=two words").ok());
  CHECK_FALSE(parse_label("team=" + std::string(64, 'a')).ok());
  CHECK_FALSE(parse_annotation("a=[2J").ok());
  KubeSpec spec;
  spec.labels = {"agents.x-k8s.io/x=y"};
  CHECK_FALSE(check_spec(spec).ok());
}

namespace {

const BoxName kName = BoxName::parse("demo").value();

std::string golden(const std::string& name) {
  auto text =
      read_file_capped(std::string(AGENTBOX_SOURCE_DIR) + "/tests/golden/" + name, 1U << 20U);
  return text.ok() ? *text : text.error().what;
}

// AGENTBOX_WRITE_GOLDENS in the environment: TEXT becomes the golden, to be looked at and
// committed.
void check_golden(const std::string& name, const std::string& text) {
  if (std::getenv("AGENTBOX_WRITE_GOLDENS") != nullptr) {
    const std::string path = std::string(AGENTBOX_SOURCE_DIR) + "/tests/golden/" + name;
    REQUIRE(replace_file(path, text, 0644).ok());
  }
  CHECK(text == golden(name));
}

std::string rendered(const KubeSpec& spec) {
  OrderedJson box = sandbox(kName, "boxes", spec, sample::kOtherKey);
  const auto keys = sandbox_keys(kName, "boxes",
                                 {{sample::key(std::string(sample::kKey) + " anna@desk")}, {}, 7});
  box.merge_patch(keys.value());
  return "---\n" + yaml_text(network_policy(kName, "boxes", spec)) + "---\n" +
         yaml_text(host_key_secret(kName, "boxes", sample::kOtherKey, "")) + "---\n" +
         yaml_text(box);
}

Json plain(const OrderedJson& value) { return parse_json(dump_json(value)).value(); }

// The pod that the controller makes of the sample.
Json pod_of(const OrderedJson& box) {
  Json pod = plain(box)["spec"]["podTemplate"];
  pod["spec"]["volumes"].push_back(
      {{"name", "data"}, {"persistentVolumeClaim", {{"claimName", "data-demo"}}}});
  pod["spec"]["nodeName"] = "n1";
  pod["spec"]["containers"][0]["terminationMessagePath"] = "/dev/termination-log";
  return pod;
}

}  // namespace

TEST_CASE("manifests: what a box with defaults is made of") {
  check_golden("box-default.yaml", rendered({}));
}

TEST_CASE("manifests: what a box with every setting is made of") {
  check_golden("box-full.yaml", rendered(full_spec()));
}

TEST_CASE("manifests: what a template with defaults, a pool of it and a claim are") {
  const BoxName small = BoxName::parse("small").value();
  const BoxName warm = BoxName::parse("warm").value();
  check_golden("template-default.yaml", "---\n" + yaml_text(sandbox_template(small, "boxes", {})));
  check_golden("template-full.yaml",
               "---\n" + yaml_text(sandbox_template(small, "boxes", full_spec())));
  OrderedJson claim = sandbox_claim(kName, "boxes", "warm", sample::kOtherKey);
  claim.merge_patch(keys_part(in_claim("demo"), "boxes",
                              {{sample::key(std::string(sample::kKey) + " anna@desk")}, {}, 7})
                        .value());
  check_golden("pool-and-claim.yaml", "---\n" + yaml_text(warm_pool(warm, "boxes", small, 3)) +
                                          "---\n" + yaml_text(claim));
}

TEST_CASE("manifests: a template has nothing that a claim sets, and nothing of any box") {
  const BoxName small = BoxName::parse("small").value();
  const Json made = plain(sandbox_template(small, "boxes", {}));
  for (const char* name : {kKeysAnnotation, kGenerationAnnotation, kRevokedAnnotation,
                           kUserCaAnnotation, kHostKeyAnnotation}) {
    CHECK(dump_json(made["spec"]["podTemplate"]["metadata"]).find(name) == std::string::npos);
  }
  CHECK(dump_json(made).find("secret") == std::string::npos);
  CHECK(made["spec"]["service"] == true);
  CHECK(made["spec"]["networkPolicyManagement"] == "Managed");
  CHECK(made["spec"]["networkPolicy"]["ingress"] ==
        Json::parse(R"([{"ports":[{"protocol":"TCP","port":2222}]}])"));
  // The same door, but for where its host key is from.
  const Json own = plain(sandbox(kName, "boxes", {}, sample::kOtherKey));
  const Json pooled = plain(sandbox_of_template(small, "boxes", {}));
  const Json& door = pooled["spec"]["podTemplate"]["spec"]["containers"][0];
  CHECK(door["args"].back() == "--generate-host-key");
  CHECK(door["securityContext"] ==
        own["spec"]["podTemplate"]["spec"]["containers"][0]["securityContext"]);
  CHECK(pooled["spec"]["podTemplate"]["spec"]["containers"][1] ==
        own["spec"]["podTemplate"]["spec"]["containers"][1]);
  CHECK(pooled["spec"]["podTemplate"] == made["spec"]["podTemplate"]);
}

TEST_CASE(
    "manifests: a pool whose number is somebody else's does not say it, and a claim says nothing "
    "that makes it a cold start") {
  const BoxName small = BoxName::parse("small").value();
  CHECK(warm_pool(kName, "b", small, std::nullopt)["spec"].size() == 1);
  const OrderedJson claim = sandbox_claim(kName, "b", "warm", "");
  CHECK_FALSE(claim["metadata"].contains("annotations"));
  CHECK(claim["spec"].size() == 1);
  const auto keys = keys_part(in_claim("demo"), "b", {{}, {}, 8});
  REQUIRE(keys.ok());
  const OrderedJson& written = (*keys)["spec"]["additionalPodMetadata"];
  CHECK(written.size() == 1);
  CHECK(written["annotations"][kKeysAnnotation] == "");
  CHECK(written["annotations"][kGenerationAnnotation] == "8");
}

TEST_CASE("manifests: no path of a key is a subPath, and each secret file fits its reader") {
  const Json box = plain(sandbox(kName, "boxes", {}, sample::kOtherKey));
  const Json& pod = box["spec"]["podTemplate"]["spec"];
  CHECK(pod["securityContext"]["fsGroup"] == 2000);
  CHECK(pod["automountServiceAccountToken"] == false);
  for (const Json& container : pod["containers"]) {
    CHECK(container["securityContext"]["readOnlyRootFilesystem"] == true);
    CHECK(container["resources"]["limits"].size() == 2);
    for (const Json& mount : container["volumeMounts"]) {
      const bool of_keys = mount["name"] == "keys" || mount["name"] == "hostkey";
      CHECK_FALSE((of_keys && mount.contains("subPath")));
      CHECK_FALSE((of_keys && container["name"] == "box"));
      CHECK_FALSE((container["name"] == "box" && mount["name"] == "link" &&
                   mount.value("readOnly", false) == false));
    }
  }
  CHECK(pod["volumes"][1]["secret"]["defaultMode"] == 0440);
  CHECK(pod["containers"][0]["securityContext"]["runAsUser"] !=
        pod["containers"][1]["securityContext"]["runAsUser"]);
}

TEST_CASE("manifests: the private half is in the Secret alone, and only where it is asked for") {
  CHECK_FALSE(host_key_secret(kName, "b", sample::kOtherKey, "").contains("data"));
  const OrderedJson secret = host_key_secret(kName, "b", sample::kOtherKey, "PRIVATE");
  CHECK(secret["data"][kHostKeyFile] == "UFJJVkFURQ==");
}

TEST_CASE("manifests: keys are their own part, with a generation that never goes") {
  const auto keys =
      sandbox_keys(kName, "b", {{}, {sample::key(sample::kKey).key.fingerprint()}, 8});
  REQUIRE(keys.ok());
  const OrderedJson& annotations = (*keys)["spec"]["podTemplate"]["metadata"]["annotations"];
  CHECK(annotations[kKeysAnnotation] == "");
  CHECK(annotations[kGenerationAnnotation] == "8");
  const auto revoked = parse_revoked_annotation(annotations[kRevokedAnnotation].get<std::string>());
  CHECK(revoked.value() == std::vector<std::string>{sample::key(sample::kKey).key.fingerprint()});
  CHECK_FALSE(parse_revoked_annotation("SHA256:x\n").ok());
  CHECK_FALSE(parse_revoked_annotation("serial:x\n").ok());
  CHECK(parse_revoked_annotation("serial:7\n").value() == std::vector<std::string>{"serial:7"});
  CHECK(annotations[kUserCaAnnotation] == "");
  CHECK((*keys)["spec"]["podTemplate"].size() == 1);
  std::vector<NamedKey> many(600,
                             sample::key(std::string(sample::kKey) + " " + std::string(100, 'x')));
  CHECK(sandbox_keys(kName, "b", {many, {}, 1}).error().code == Code::kLimit);
}

TEST_CASE("manifests: keys come back out of their annotation") {
  const auto keys = parse_keys_annotation(std::string(sample::kKey) + " anna@desk\n\n# x\n" +
                                          sample::kOtherKey + "\n");
  REQUIRE(keys.ok());
  REQUIRE(keys->size() == 2);
  CHECK(keys->front().label == "anna@desk");
  CHECK(parse_keys_annotation("").value().empty());
  CHECK_FALSE(parse_keys_annotation("command=\"x\" " + std::string(sample::kKey)).ok());
}

TEST_CASE("manifests: what is another box is said, what the cluster adds is not") {
  const OrderedJson box = sandbox(kName, "boxes", {}, sample::kOtherKey);
  Json live = plain(box);
  live["metadata"]["uid"] = "u";
  live["spec"]["podTemplate"]["spec"]["dnsPolicy"] = "ClusterFirst";
  live["spec"]["podTemplate"]["metadata"]["annotations"][kKeysAnnotation] = "k";
  CHECK(changes_between(box, live).empty());
  KubeSpec other;
  other.image = "tools:2";
  CHECK(changes_between(sandbox(kName, "boxes", other, sample::kOtherKey), live) ==
        std::vector<std::string>{
            R"(spec.podTemplate.spec.containers[1].image: is "agentbox-door:)" AGENTBOX_VERSION
            R"(", asked for is "tools:2")"});
  KubeSpec open;
  open.egress = Egress::kInternet;
  CHECK(changes_between(sandbox(kName, "boxes", open, sample::kOtherKey), live).size() == 1);
  live["spec"].erase("service");
  CHECK(changes_between(box, live).front() == "spec.service: is missing, asked for is true");
  Json policy = plain(network_policy(kName, "b", {}));
  policy["spec"].erase("egress");
  CHECK(changes_between(network_policy(kName, "b", {}), policy).empty());
}

TEST_CASE("manifests: what somebody put into the pod is found") {
  const OrderedJson box = sandbox(kName, "boxes", {}, sample::kOtherKey);
  CHECK(additions_of(pod_of(box), box).empty());
  Json rewritten = pod_of(box);
  rewritten["spec"]["containers"][1]["resources"]["limits"]["memory"] = "1024Mi";
  CHECK(additions_of(rewritten, box).empty());
  const auto found = [&](const std::function<void(Json&)>& change) {
    Json pod = pod_of(box);
    change(pod["spec"]);
    return additions_of(pod, box);
  };
  CHECK_FALSE(found([](Json& s) { s["containers"].push_back({{"name", "spy"}}); }).empty());
  CHECK_FALSE(found([](Json& s) { s["initContainers"].push_back({{"name", "spy"}}); }).empty());
  CHECK_FALSE(found([](Json& s) { s["ephemeralContainers"] = {{{"name", "spy"}}}; }).empty());
  CHECK_FALSE(found([](Json& s) { s["containers"][1]["env"] = {{{"name", "T"}}}; }).empty());
  CHECK_FALSE(found([](Json& s) { s["containers"][1]["envFrom"] = {{{"x", "T"}}}; }).empty());
  CHECK_FALSE(found([](Json& s) {
                s["containers"][1]["volumeMounts"].push_back({{"mountPath", "/var/run/secrets"}});
              }).empty());
  CHECK_FALSE(found([](Json& s) {
                s["containers"][0]["command"] = {"sh"};
                s["containers"][0]["args"] = {"x"};
              }).empty());
  CHECK_FALSE(
      found([](Json& s) { s["containers"][0]["securityContext"]["runAsUser"] = 0; }).empty());
  CHECK_FALSE(found([](Json& s) { s["containers"][0]["lifecycle"] = Json::object(); }).empty());
  CHECK_FALSE(found([](Json& s) { s["volumes"].push_back({{"name", "host"}}); }).empty());
  CHECK_FALSE(found([](Json& s) {
                s["volumes"][2] = {{"name", "link"}, {"hostPath", 1}};
              }).empty());
  CHECK_FALSE(found([](Json& s) { s["hostNetwork"] = true; }).empty());
  CHECK_FALSE(found([](Json& s) { s["shareProcessNamespace"] = true; }).empty());
  CHECK_FALSE(found([](Json& s) { s["automountServiceAccountToken"] = true; }).empty());
  CHECK_FALSE(additions_of(Json::object(), box).empty());
}

TEST_CASE("kube spec: values that a manifest must not carry are refused") {
  CHECK(check_spec({}).ok());
  CHECK(check_spec(full_spec()).ok());
  const auto refused = [](const std::function<void(KubeSpec&)>& change) {
    KubeSpec spec;
    change(spec);
    return !check_spec(spec).ok();
  };
  CHECK(refused([](KubeSpec& s) { s.image = "a b"; }));
  CHECK(refused([](KubeSpec& s) { s.image = "-x"; }));
  CHECK(refused([](KubeSpec& s) { s.door_image = ""; }));
  for (const char* size : {"", "-1Gi", "1gi", "Gi", "0", "1..0Gi", ".5Gi", "1Gi\n"}) {
    CAPTURE(size);
    CHECK(refused([&](KubeSpec& s) { s.size = size; }));
  }
  CHECK(refused([](KubeSpec& s) { s.storage_class = "A"; }));
  CHECK(refused([](KubeSpec& s) { s.runtime_class = "../x"; }));
  CHECK(refused([](KubeSpec& s) { s.egress = Egress::kList; }));
  CHECK(refused([](KubeSpec& s) { s.egress_to = {"192.0.2.0/24"}; }));
  for (const char* range : {"192.0.2.0", "192.0.2.0/33", "x/8", "::/129", "1.2.3/8", ""}) {
    CAPTURE(range);
    CHECK(refused([&](KubeSpec& s) {
      s.egress = Egress::kList;
      s.egress_to = {range};
    }));
  }
  CHECK(parse_range("10.0.0.0/8")->contains(parse_range("10.9.0.0/16").value()));
  CHECK_FALSE(parse_range("10.0.0.0/9")->contains(parse_range("10.128.0.0/16").value()));
  CHECK(is_pinned_image(full_spec().door_image));
  CHECK_FALSE(is_pinned_image("a:1"));
}

TEST_CASE("yaml text: what is written is read as it was") {
  for (
      const char* text :
      {R"({"a":{"b":[1,true,null,"x"],"c":[],"d":{}},"e":"yes","f":"12","g":"1.5","h":"","i":"a: b"})",
       R"([[1,[2]],{"k":[{"x":1,"y":2},{"z":[3]}]}])", R"({"n":"no","~":"~","- a":"- b","#":"#x"})",
       R"({"text":"two\nlines\n","tab":"\t","uni":"ä\u0001","q":"\"'\\"})", R"("word")",
       R"({"0x1f":"0x1f","1e5":"1e5","_1":"_1","null":"null","a/b.c-d":"/x"})"}) {
    CAPTURE(text);
    const Json wanted = parse_json(text).value();
    const std::string yaml = yaml_text(OrderedJson::parse(text));
    CAPTURE(yaml);
    const auto read = yaml_to_json(yaml);
    REQUIRE(read.ok());
    CHECK(*read == wanted);
  }
}
