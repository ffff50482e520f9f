// pure: tests of provision/kube/guard: who may be named, and what is guarded.
#include "provision/kube/guard.h"

#include <set>

#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::provision;
using namespace agentbox::provision::kube;

TEST_CASE("guard: a service account is written out, and nothing that would end a text of CEL") {
  CHECK(*parse_account("boxes:provisioner") == "system:serviceaccount:boxes:provisioner");
  CHECK(*parse_account("anna@example.org") == "anna@example.org");
  CHECK(*parse_account("system:serviceaccount:boxes:provisioner") ==
        "system:serviceaccount:boxes:provisioner");
  for (const char* text : {"", "a'b", "a\"b", "a\\b", "a b", "a\nb"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_account(text).ok());
  }
}

TEST_CASE(
    "guard: pods, Sandboxes, claims and templates are guarded, each by a policy that denies") {
  const auto objects = guard({"anna"}, "controller");
  REQUIRE(objects.size() == 8);
  std::set<std::string> guarded;
  for (std::size_t i = 0; i < objects.size(); i += 2) {
    const OrderedJson& policy = objects[i];
    const OrderedJson& binding = objects[i + 1];
    guarded.insert(policy["spec"]["matchConstraints"]["resourceRules"][0]["resources"][0]);
    CHECK(policy["spec"]["failurePolicy"] == "Fail");
    CHECK(binding["spec"]["policyName"] == policy["metadata"]["name"]);
    CHECK(binding["spec"]["validationActions"][0] == "Deny");
    const std::string condition = policy["spec"]["matchConditions"][0]["expression"];
    CHECK(condition.find("'anna'") != std::string::npos);
    CHECK(policy["spec"]["validations"].size() == policy["spec"]["variables"].size() / 2);
    const std::string expression = policy["spec"]["validations"][0]["expression"];
    CHECK(expression.find("'agentbox.internal/authorized-keys'") != std::string::npos);
    CHECK(expression.find("'agentbox.internal/host-key'") != std::string::npos);
  }
  CHECK(guarded == std::set<std::string>{"pods", "sandboxes", "sandboxclaims", "sandboxtemplates"});
}
