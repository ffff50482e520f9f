// pure: see guard.h.
#include "provision/kube/guard.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "provision/kube/connection.h"
#include "provision/kube/manifests.h"

namespace agentbox::provision::kube {
namespace {

constexpr const char* kAdmission = "admissionregistration.k8s.io/v1";
constexpr std::array<const char*, 5> kGuarded = {kKeysAnnotation, kGenerationAnnotation,
                                                 kRevokedAnnotation, kUserCaAnnotation,
                                                 kHostKeyAnnotation};

struct Kind {
  const char* name;
  const char* group;
  const char* plural;
  /// Where annotations of ours are, from the object on.
  std::vector<const char*> places;
  bool controller;
};

std::vector<Kind> kinds() {
  const char* own = "metadata";
  const char* pod_template = "spec.podTemplate.metadata";
  return {
      {"pods", "", "pods", {own}, true},
      {"sandboxes", "agents.x-k8s.io", "sandboxes", {own, pod_template}, true},
      {"claims",
       "extensions.agents.x-k8s.io",
       "sandboxclaims",
       {own, "spec.additionalPodMetadata"},
       false},
      {"templates", "extensions.agents.x-k8s.io", "sandboxtemplates", {own, pod_template}, false}};
}

// A text of CEL. What is in it has passed its grammar: no quotes, no backslashes.
std::string cel_text(const std::string& text) { return "'" + text + "'"; }

std::string cel_list(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) {
    list += (list.empty() ? "" : ", ") + cel_text(text);
  }
  return "[" + list + "]";
}

// The annotations at PLACE of OBJECT, an empty map where any part of the way is missing.
std::string annotations_of(const std::string& object, const std::string& place) {
  std::string way = object;
  for (std::size_t at = 0; at <= place.size();) {
    const auto end = std::min(place.find('.', at), place.size());
    way += ".?" + place.substr(at, end - at);
    at = end + 1;
  }
  return way + ".?annotations.orValue({})";
}

OrderedJson policy_of(const Kind& kind, const std::vector<std::string>& may) {
  OrderedJson policy;
  policy["apiVersion"] = kAdmission;
  policy["kind"] = "ValidatingAdmissionPolicy";
  policy["metadata"]["name"] = std::string("agentbox-keys-") + kind.name;
  policy["metadata"]["labels"] = {{kManagedByLabel, kManagedBy}};
  OrderedJson& spec = policy["spec"];
  spec["failurePolicy"] = "Fail";
  OrderedJson rule;
  rule["apiGroups"] = OrderedJson::array({kind.group});
  rule["apiVersions"] = OrderedJson::array({"*"});
  rule["operations"] = OrderedJson::array({"CREATE", "UPDATE"});
  rule["resources"] = OrderedJson::array({kind.plural});
  spec["matchConstraints"]["resourceRules"] = OrderedJson::array({rule});
  spec["matchConditions"] = OrderedJson::array(
      {{{"name", "not-the-provisioner"},
        {"expression", "!(request.userInfo.username in " + cel_list(may) + ")"}}});
  spec["variables"] = OrderedJson::array();
  spec["validations"] = OrderedJson::array();
  const std::vector<std::string> guarded(kGuarded.begin(), kGuarded.end());
  for (std::size_t i = 0; i < kind.places.size(); ++i) {
    const std::string number = std::to_string(i);
    spec["variables"].push_back(
        {{"name", "now" + number}, {"expression", annotations_of("object", kind.places[i])}});
    spec["variables"].push_back({{"name", "before" + number},
                                 {"expression", "oldObject == null ? {} : " +
                                                    annotations_of("oldObject", kind.places[i])}});
    const auto value = [&](const std::string& name) {
      return "(key in variables." + name + number + " ? variables." + name + number + "[key] : '')";
    };
    spec["validations"].push_back(
        {{"expression",
          cel_list(guarded) + ".all(key, " + value("now") + " == " + value("before") + ")"},
         {"message",
          std::string("only agentbox-provision's account changes who may enter a box (") +
              kind.places[i] + ".annotations)"},
         {"reason", "Forbidden"}});
  }
  return policy;
}

OrderedJson binding_of(const Kind& kind) {
  OrderedJson binding;
  binding["apiVersion"] = kAdmission;
  binding["kind"] = "ValidatingAdmissionPolicyBinding";
  binding["metadata"]["name"] = std::string("agentbox-keys-") + kind.name;
  binding["metadata"]["labels"] = {{kManagedByLabel, kManagedBy}};
  binding["spec"]["policyName"] = std::string("agentbox-keys-") + kind.name;
  binding["spec"]["validationActions"] = OrderedJson::array({"Deny"});
  return binding;
}

}  // namespace

Result<std::string> parse_account(std::string_view text) {
  constexpr std::size_t kMaxAccountBytes = 253;
  const auto colon = text.find(':');
  if (colon != std::string_view::npos && is_dns_label(text.substr(0, colon)) &&
      is_dns_name(text.substr(colon + 1))) {
    return "system:serviceaccount:" + std::string(text);
  }
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return c > ' ' && c < 0x7f && c != '\'' && c != '"' && c != '\\';
  });
  if (text.empty() || text.size() > kMaxAccountBytes || !plain) {
    return Error{Code::kInvalid, "not the name of an account: " + escape_text(text, 100)};
  }
  return std::string(text);
}

std::vector<OrderedJson> guard(const std::vector<std::string>& accounts,
                               const std::string& controller) {
  std::vector<OrderedJson> objects;
  for (const Kind& kind : kinds()) {
    std::vector<std::string> may = accounts;
    if (kind.controller) {
      may.push_back(controller);
    }
    objects.push_back(policy_of(kind, may));
    objects.push_back(binding_of(kind));
  }
  return objects;
}

}  // namespace agentbox::provision::kube
