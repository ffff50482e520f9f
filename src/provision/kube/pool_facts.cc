// pure: see pool_facts.h.
#include "provision/kube/pool_facts.h"

#include <algorithm>

#include "base/text.h"
#include "provision/kube/api.h"
#include "provision/kube/connection.h"
#include "provision/kube/manifests.h"

namespace agentbox::provision::kube {
namespace {

constexpr std::size_t kMaxShownBytes = 300;

std::string name_at(const Json& object, std::string_view path) {
  const Json* value = find_path(object, path);
  const std::string text =
      value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
  return is_dns_name(text) ? text : std::string();
}

// Annotation and label names have slashes in them: find_path() does not fit.
std::string entry_at(const Json& object, std::string_view path, std::string_view name) {
  const Json* map = find_path(object, path);
  const std::string* value = map == nullptr ? nullptr : find_string(*map, name);
  return value == nullptr ? std::string() : *value;
}

std::uint64_t number_at(const Json& object, std::string_view path) {
  const Json* value = find_path(object, path);
  return value != nullptr && value->is_number_unsigned() ? value->get<std::uint64_t>() : 0;
}

Failure not_made_here(const char* kind, const Json& object) {
  return Failure{Exit::kRefused,
                 "there is a " + std::string(kind) + " " +
                     escape_text(metadata_text(object, "name"), 80) +
                     ", and agentbox-provision did not make it",
                 "choose another name; nothing was changed"};
}

std::string image_of(const Json& object, std::string_view container) {
  const Json* list = find_path(object, "spec/podTemplate/spec/containers");
  if (list != nullptr && list->is_array()) {
    for (const Json& each : *list) {
      const std::string* name = find_string(each, "name");
      const std::string* image = find_string(each, "image");
      if (name != nullptr && *name == container && image != nullptr) {
        return escape_text(*image, kMaxShownBytes);
      }
    }
  }
  return {};
}

bool owns_replicas(const Json& pool) {
  const Json* list = find_path(pool, "metadata/managedFields");
  return list != nullptr && list->is_array() &&
         std::any_of(list->begin(), list->end(), [](const Json& entry) {
           const std::string* manager = find_string(entry, "manager");
           const std::string* operation = find_string(entry, "operation");
           return manager != nullptr && *manager == kBaseManager && operation != nullptr &&
                  *operation == "Apply" &&
                  find_path(entry, "fieldsV1/f:spec/f:replicas") != nullptr;
         });
}

}  // namespace

bool is_made_here(const Json& object) {
  return entry_at(object, "metadata/labels", kManagedByLabel) == kManagedBy;
}

std::string template_of_pool(const Json& object) {
  return name_at(object, "spec/sandboxTemplateRef/name");
}

std::string policy_of_pooled(const Json& sandbox) {
  const std::string from = entry_at(sandbox, "spec/podTemplate/metadata/labels", kTemplateLabel);
  return is_dns_name(from) ? from + "-network-policy" : std::string();
}

std::string pool_of_claim(const Json& object) { return name_at(object, "spec/warmPoolRef/name"); }

Answer<TemplateFacts> read_template(const Json& object) {
  if (!is_made_here(object)) {
    return not_made_here(kTemplates.kind, object);
  }
  return TemplateFacts{
      name_at(object, "metadata/name"), metadata_text(object, "uid"), image_of(object, "door"),
      image_of(object, "box"),
      escape_text(entry_at(object, "spec/podTemplate/metadata/annotations", kEgressAnnotation),
                  kMaxShownBytes)};
}

Answer<PoolFacts> read_pool(const Json& object) {
  if (!is_made_here(object)) {
    return not_made_here(kPools.kind, object);
  }
  PoolFacts facts;
  facts.name = name_at(object, "metadata/name");
  facts.uid = metadata_text(object, "uid");
  facts.from_template = template_of_pool(object);
  if (facts.from_template.empty()) {
    return Failure{Exit::kRefused,
                   "SandboxWarmPool " + facts.name + ": its template has a strange name",
                   "look at it with kubectl get -o yaml; what it says is not passed on"};
  }
  facts.replicas = number_at(object, "spec/replicas");
  facts.ready = number_at(object, "status/readyReplicas");
  facts.replicas_are_ours = owns_replicas(object);
  return facts;
}

bool lets_somebody_in(const Json& object) {
  constexpr std::string_view kAnnotations = "spec/additionalPodMetadata/annotations";
  return !entry_at(object, kAnnotations, kKeysAnnotation).empty() ||
         !entry_at(object, kAnnotations, kUserCaAnnotation).empty();
}

}  // namespace agentbox::provision::kube
