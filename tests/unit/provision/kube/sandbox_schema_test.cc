// edge: what provision/kube/manifests makes, held against agent-sandbox's own definition of its
// kind.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/handle.h"
#include "base/yaml.h"
#include "provision/kube/api.h"
#include "provision/kube/manifests.h"
#include "support/catch.h"
#include "unit/provision/kube/full_spec.h"
#include "unit/provision/sample.h"

using namespace agentbox;
using namespace agentbox::provision;
using namespace agentbox::provision::kube;

namespace {

const BoxName kName = BoxName::parse("demo").value();

Json plain(const OrderedJson& value) { return parse_json(dump_json(value)).value(); }

// What a cluster that checks strictly would say about VALUE: unknown fields, wrong types, what is
// missing.
void check_schema(const Json& schema, const Json& value, const std::string& path,
                  std::vector<std::string>& problems) {
  if (schema.value("x-kubernetes-int-or-string", false)) {
    if (!value.is_string() && !value.is_number_integer()) {
      problems.push_back(path + ": neither a number nor a text");
    }
    return;
  }
  const std::string type = schema.value("type", "");
  const bool fits = type == "object"    ? value.is_object()
                    : type == "array"   ? value.is_array()
                    : type == "string"  ? value.is_string()
                    : type == "boolean" ? value.is_boolean()
                    : type == "integer" ? value.is_number_integer()
                                        : false;
  const Json* choices = find_member(schema, "enum");
  if (!fits || (choices != nullptr &&
                std::find(choices->begin(), choices->end(), value) == choices->end())) {
    problems.push_back(path + ": not of type " + type + ", or not one of its values");
    return;
  }
  if (value.is_array()) {
    for (const Json& item : value) {
      check_schema(schema["items"], item, path + "[]", problems);
    }
  }
  if (!value.is_object()) {
    return;
  }
  for (const Json& name : schema.value("required", Json::array())) {
    if (!value.contains(name.get<std::string>())) {
      problems.push_back(path + ": lacks " + name.get<std::string>());
    }
  }
  const Json* rest = find_member(schema, "additionalProperties");
  for (const auto& entry : value.items()) {
    const Json* known = find_path(schema, "properties");
    const Json* member = known == nullptr ? nullptr : find_member(*known, entry.key());
    member = member == nullptr ? rest : member;
    if (member != nullptr) {
      check_schema(*member, entry.value(), path + "." + entry.key(), problems);
    } else if (path + "." + entry.key() != ".metadata.name" && path != ".metadata") {
      problems.push_back(path + ": unknown field " + entry.key());
    }
  }
}

// The schema of one version of the kind, as its definition for clusters has it.
Json schema_of(const std::string& version, const std::string& kind) {
  const auto text = read_file_capped(AGENTBOX_CRDS "/" + kind + ".yaml", 4U << 20U);
  REQUIRE(text.ok());
  const auto definition = yaml_to_json(*text);
  REQUIRE(definition.ok());
  for (const Json& one : definition->at("spec").at("versions")) {
    if (one.at("name") == version) {
      return one.at("schema").at("openAPIV3Schema");
    }
  }
  FAIL("no version " + version);
  return {};
}

std::vector<std::string> problems_of(const Json& box,
                                     const std::string& kind = "agents.x-k8s.io_sandboxes") {
  const Json schema = schema_of("v1beta1", kind);
  std::vector<std::string> problems;
  check_schema(schema, box, "", problems);
  return problems;
}

}  // namespace

TEST_CASE("manifests: a Sandbox fits the schema of its kind, to the last field") {
  CHECK(problems_of(plain(sandbox(kName, "boxes", full_spec(), sample::kOtherKey))) ==
        std::vector<std::string>{});
  Json wrong = plain(sandbox(kName, "boxes", {}, sample::kOtherKey));
  wrong["spec"]["podTemplate"]["spec"]["containers"][0]["imagePullPolice"] = "Always";
  wrong["spec"]["service"] = "true";
  CHECK(problems_of(wrong).size() == 2);
}

TEST_CASE("manifests: a template, a pool and a claim fit the schemas of their kinds") {
  const std::string extension = "extensions.agents.x-k8s.io_";
  const BoxName small = BoxName::parse("small").value();
  CHECK(problems_of(plain(sandbox_template(small, "boxes", full_spec())),
                    extension + "sandboxtemplates") == std::vector<std::string>{});
  CHECK(problems_of(plain(sandbox_of_template(small, "boxes", full_spec()))) ==
        std::vector<std::string>{});
  CHECK(problems_of(plain(warm_pool(kName, "boxes", small, 3)), extension + "sandboxwarmpools") ==
        std::vector<std::string>{});
  OrderedJson claim = sandbox_claim(kName, "boxes", "warm", sample::kOtherKey);
  claim.merge_patch(
      keys_part(in_claim("demo"), "boxes", {{sample::key(sample::kKey)}, {}, 7}).value());
  CHECK(problems_of(plain(claim), extension + "sandboxclaims") == std::vector<std::string>{});
  Json wrong = plain(claim);
  wrong["spec"]["sandboxTemplateRef"]["name"] = "small";
  CHECK(problems_of(wrong, extension + "sandboxclaims").size() == 1);
}
