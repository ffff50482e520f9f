// pure: tests of provision/kube/pipe and of what else a gateway adds to a box; the goldens lie in
// tests/golden, what is known of a Pipe's fields in tests/support/pipe_schema.yaml.
#include "provision/kube/pipe.h"

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "base/handle.h"
#include "base/text.h"
#include "base/yaml.h"
#include "provision/kube/api.h"
#include "provision/kube/manifests.h"
#include "provision/kube/sandbox_facts.h"
#include "provision/kube/yaml_text.h"
#include "support/catch.h"
#include "unit/provision/sample.h"

using namespace agentbox;
using namespace agentbox::provision;
using namespace agentbox::provision::kube;

namespace {

const BoxName kName = BoxName::parse("demo").value();
constexpr const char* kHost = "demo.boxes.svc.cluster.local";

std::string read_file(const std::string& path) {
  auto text = read_file_capped(std::string(AGENTBOX_SOURCE_DIR) + "/tests/" + path, 1U << 20U);
  return text.ok() ? *text : text.error().what;
}

void check_golden(const std::string& name, const std::string& text) {
  if (std::getenv("AGENTBOX_WRITE_GOLDENS") != nullptr) {
    const std::string path = std::string(AGENTBOX_SOURCE_DIR) + "/tests/golden/" + name;
    REQUIRE(replace_file(path, text, 0644).ok());
  }
  CHECK(text == read_file("golden/" + name));
}

Gateway piper(const std::string& ns = "gateway") {
  Gateway gateway = parse_gateway("sshpiper:" + ns, "ssh.example:2222").value();
  gateway.host_key = sample::kKey;
  return gateway;
}

PipePlan plan(const std::string& ns = "gateway") {
  return {kName,
          "boxes",
          "uid-1",
          piper(ns),
          kHost,
          sample::kOtherKey,
          sample::kKey,
          {sample::key(std::string(sample::kKey) + " anna@desk"), sample::key(sample::kOtherKey)}};
}

Json plain(const OrderedJson& value) { return parse_json(dump_json(value)).value(); }

std::string joined(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& one : all) {
    text += one + "\n";
  }
  return text;
}

// VALUE held against the few words of a schema that ours uses: type, properties, required, items.
void hold(const Json& value, const Json& schema, const std::string& where) {
  CAPTURE(where, dump_json(value));
  const std::string type = schema.at("type");
  if (type == "object") {
    REQUIRE(value.is_object());
    for (const Json& name : schema.value("required", Json::array())) {
      CHECK(value.contains(name.get<std::string>()));
    }
    for (const auto& entry : value.items()) {
      REQUIRE(schema.at("properties").contains(entry.key()));
      hold(entry.value(), schema.at("properties").at(entry.key()), where + "." + entry.key());
    }
  } else if (type == "array") {
    REQUIRE(value.is_array());
    for (const Json& item : value) {
      hold(item, schema.at("items"), where + "[]");
    }
  } else if (type == "boolean") {
    CHECK(value.is_boolean());
  } else {
    REQUIRE(type == "string");
    CHECK(value.is_string());
  }
}

std::string rendered(const KubeSpec& spec) {
  std::string text = "---\n" + yaml_text(network_policy(kName, "boxes", spec)) + "---\n" +
                     yaml_text(sandbox(kName, "boxes", spec, sample::kOtherKey));
  return text;
}

}  // namespace

TEST_CASE("pipe: what sshpiper adds to a box") {
  KubeSpec spec;
  spec.gateway = piper();
  check_golden("gateway-sshpiper.yaml",
               rendered(spec) + "---\n" +
                   yaml_text(upstream_secret(kName, "boxes", "gateway", sample::kKey, "")) +
                   "---\n" + yaml_text(pipe(plan())) + "---\n" +
                   yaml_text(gateway_role({kName}, "gateway")));
}

TEST_CASE("pipe: beside its Sandbox it is owned by it, elsewhere nobody can own it") {
  check_golden("gateway-sshpiper-own-namespace.yaml", yaml_text(pipe(plan("boxes"))));
  CHECK_FALSE(pipe(plan())["metadata"].contains("ownerReferences"));
}

TEST_CASE("pipe: a jump host adds nothing but what the box says of it") {
  KubeSpec spec;
  spec.gateway = parse_gateway("jump:me@bastion.example", "").value();
  spec.gateway.host_key = sample::kKey;
  check_golden("gateway-jump.yaml", rendered(spec));
}

TEST_CASE("pipe: every field of it is one that sshpiper documents, and none is missing") {
  const auto schema = yaml_to_json(read_file("support/pipe_schema.yaml"));
  REQUIRE(schema.ok());
  hold(plain(pipe(plan()))["spec"], *schema, "spec");
  for (const char* never : {"ignore_hostkey", "password_secret", "htpasswd", "regex"}) {
    CHECK(dump_json(pipe(plan())).find(never) == std::string::npos);
  }
}

TEST_CASE("pipe: its data are base64 that a strict reader takes, with the host as in its host") {
  const Json made = plain(pipe(plan()));
  const Json& to = made["spec"]["to"];
  CHECK(to["host"] == std::string(kHost) + ":2222");
  CHECK(base64_decode(to["known_hosts_data"].get<std::string>()).value() ==
        "[" + std::string(kHost) + "]:2222 " + sample::kOtherKey + "\n");
  CHECK(base64_decode(made["spec"]["from"][0]["authorized_keys_data"].get<std::string>()).value() ==
        std::string(sample::kKey) + " anna@desk\n" + sample::kOtherKey + "\n");
}

TEST_CASE("pipe: H3-113 the Secret has the type and the member that sshpiper reads") {
  const OrderedJson secret = upstream_secret(kName, "boxes", "gateway", sample::kKey, "PEM");
  CHECK(secret["type"] == "kubernetes.io/ssh-auth");
  REQUIRE(secret["data"].size() == 1);
  CHECK(base64_decode(secret["data"]["ssh-privatekey"].get<std::string>()).value() == "PEM\n");
  CHECK(upstream_change(sample::kKey, "PEM\n")["data"] == secret["data"]);
  CHECK_FALSE(upstream_secret(kName, "boxes", "gateway", sample::kKey, "").contains("data"));
}

TEST_CASE("pipe: ours is read back, what somebody changed in it is named") {
  const Json live = plain(pipe(plan()));
  const auto seen = read_pipe(live, plan());
  REQUIRE(seen.ok());
  CHECK(joined(seen->problems).empty());
  REQUIRE(seen->keys.size() == 2);
  CHECK(seen->keys.front().label == "anna@desk");
  CHECK(seen->upstream_key == sample::kKey);
  const auto problems = [&](const std::function<void(Json&)>& change) {
    Json other = live;
    change(other);
    const auto read = read_pipe(other, plan());
    return read.ok() ? joined(read->problems) : "refused: " + read.error().message;
  };
  const auto has = [](const std::string& text, const std::string& words) {
    CAPTURE(text);
    return text.find(words) != std::string::npos;
  };
  CHECK(has(problems([](Json& p) { p["spec"]["to"]["host"] = "x:1"; }), "spec.to.host"));
  CHECK(has(problems([](Json& p) { p["spec"]["to"]["username"] = "root"; }), "spec.to.username"));
  CHECK(has(problems([](Json& p) { p["spec"]["to"].erase("known_hosts_data"); }), "pins no host"));
  CHECK(has(problems([](Json& p) { p["spec"]["to"]["ignore_hostkey"] = true; }), "ignore_hostkey"));
  CHECK(has(problems([](Json& p) {
              p["spec"]["from"].push_back({{"username", "x"}});
            }),
            "any password"));
  CHECK(has(problems([](Json& p) { p["spec"]["from"] = Json::array(); }), "spec.from"));
  CHECK(has(problems([](Json& p) { p["spec"]["from"][0]["authorized_keys_data"] = "x y"; }),
            "refused"));
  CHECK(has(problems([](Json& p) { p["metadata"]["labels"]["agentbox.internal/box"] = "other"; }),
            "did not make it"));
  CHECK(has(problems([](Json& p) { p["metadata"].erase("labels"); }), "did not make it"));
  CHECK_FALSE(read_pipe(Json::object(), plan()).ok());
}

TEST_CASE("pipe: H3-117 what is weak in anybody's Pipe is named") {
  const auto weak = [](const std::string& text) {
    return joined(pipe_weaknesses(parse_json(text).value()));
  };
  const auto has = [](const std::string& text, const std::string& words) {
    CAPTURE(text);
    return text.find(words) != std::string::npos;
  };
  const std::string good =
      R"("to":{"host":"h:1","private_key_secret":{"name":"s"},"known_hosts_data":"YQo="}}})";
  const std::string from = R"("from":[{"username":"u","authorized_keys_data":"YQo="}],)";
  CHECK(weak(R"({"spec":{)" + from + good).empty());
  CHECK(has(weak(R"({"spec":{"from":[{"username":"u"}],)" + good), "any password"));
  CHECK(has(weak(R"({"spec":{"from":[{"username":"u","htpasswd_data":"x"}],)" + good),
            "with a password"));
  CHECK(has(weak(R"({"spec":{"from":[{"username":"u","username_regex_match":true,)"
                 R"("authorized_keys_file":"/k"}],)" +
                 good),
            "pattern"));
  CHECK(has(weak(R"({"spec":{)" + from + R"("to":{"host":"h","known_hosts_data":"YQo="}}})"),
            "falls back"));
  CHECK(has(weak(R"({"spec":{)" + from +
                 R"("to":{"private_key_secret":{"name":"s"},"known_hosts_data":"a b"}}})"),
            "no base64"));
  CHECK(has(weak(R"({"spec":{)" + from +
                 R"("to":{"private_key_secret":{"name":"s"},"known_hosts_data":"YQo=",)"
                 R"("password_secret":{"name":"p"}}}})"),
            "with a password"));
  for (const char* name : {"sshpiper.com/kubectl_exec_cmd", "kubectl_exec_cmd"}) {
    CHECK(has(weak(R"({"metadata":{"annotations":{")" + std::string(name) +
                   R"(":"true"}},"spec":{)" + from + good),
              "kubectl exec"));
  }
  CHECK_FALSE(weak("{}").empty());
  CHECK_FALSE(weak(R"({"spec":{"from":"x","to":[]}})").empty());
}

TEST_CASE("pipe: a user name counts as taken however another Pipe takes it") {
  const auto clash = [](const std::string& from) {
    Json other =
        parse_json(R"({"metadata":{"name":"theirs"},"spec":{"from":)" + from + "}}").value();
    return username_clash({other}, kName, "boxes");
  };
  CHECK(clash(R"([{"username":"other"}])").empty());
  CHECK_FALSE(clash(R"([{"username":"other"},{"username":"demo"}])").empty());
  CHECK_FALSE(clash(R"([{"username":"em","username_regex_match":true}])").empty());
  CHECK(clash(R"([{"username":"^em","username_regex_match":true}])").empty());
  CHECK_FALSE(clash(R"([{"username":"(","username_regex_match":true}])").empty());
  CHECK(clash(R"([{"username":"(","username_regex_match":false}])").empty());
  CHECK(username_clash({plain(pipe(plan()))}, kName, "boxes").empty());
  CHECK_FALSE(username_clash({plain(pipe(plan()))}, kName, "elsewhere").empty());
  Json second = plain(pipe(plan()));
  second["metadata"]["name"] = "copy";
  CHECK_FALSE(username_clash({second}, kName, "boxes").empty());
}

TEST_CASE("pipe: a Sandbox tells its gateway, and a value of another grammar is refused") {
  KubeSpec spec;
  spec.gateway = piper();
  Json live = plain(sandbox(kName, "boxes", spec, sample::kOtherKey));
  const auto facts = read_sandbox(live, kName, "boxes");
  REQUIRE(facts.ok());
  CHECK(facts->gateway == spec.gateway);
  for (const char* name :
       {kGatewayAnnotation, kGatewayAddressAnnotation, kGatewayHostKeyAnnotation}) {
    CAPTURE(name);
    Json other = live;
    other["metadata"]["annotations"][name] = "-oProxyCommand=x";
    CHECK_FALSE(read_sandbox(other, kName, "boxes").ok());
  }
}

TEST_CASE(
    "pipe: the keys behind a gateway are those of its Pipe, and its own key must be the box's") {
  KubeSpec spec;
  spec.gateway = piper();
  OrderedJson box = sandbox(kName, "boxes", spec, sample::kOtherKey);
  box.merge_patch(sandbox_keys(kName, "boxes", {{sample::key(sample::kKey)}, {}, 3}).value());
  Json live = plain(box);
  live["status"]["serviceFQDN"] = kHost;
  auto facts = read_sandbox(live, kName, "boxes").value();
  const Json made = plain(pipe(plan()));
  REQUIRE(add_pipe(&made, kName, "boxes", facts).ok());
  CHECK(facts.keys.size() == 2);
  CHECK(facts.door_keys.size() == 1);
  CHECK(joined(facts.pipe_problems).empty());
  Json other = made;
  other["metadata"]["annotations"][kUpstreamAnnotation] = sample::kOtherKey;
  REQUIRE(add_pipe(&other, kName, "boxes", facts).ok());
  CHECK(facts.pipe_problems.size() == 1);
  REQUIRE(add_pipe(nullptr, kName, "boxes", facts).ok());
  CHECK(facts.keys.empty());
  CHECK_FALSE(facts.has_pipe);
}
