// pure: see sandbox_facts.h.
#include "provision/kube/sandbox_facts.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "provision/kube/api.h"
#include "provision/kube/connection.h"
#include "provision/kube/manifests.h"
#include "provision/kube/pipe.h"

namespace agentbox::provision::kube {
namespace {

std::string text_at(const Json& object, std::string_view path) {
  const Json* value = find_path(object, path);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

// Annotation and label names have slashes in them: find_path() does not fit.
std::string entry_of(const Json& object, std::string_view path, std::string_view name) {
  const Json* map = find_path(object, path);
  const std::string* value = map == nullptr ? nullptr : find_string(*map, name);
  return value == nullptr ? std::string() : *value;
}

struct Condition {
  std::string status;
  std::string reason;
  std::string message;
};

Condition condition_of(const Json& sandbox, std::string_view type) {
  const Json* list = find_path(sandbox, "status/conditions");
  if (list != nullptr && list->is_array()) {
    for (const Json& entry : *list) {
      const std::string* is = find_string(entry, "type");
      if (is != nullptr && *is == type) {
        // One that is about an earlier state of the object says nothing about this one.
        const Json* seen = find_member(entry, "observedGeneration");
        const Json* is_now = find_path(sandbox, "metadata/generation");
        const bool old = seen != nullptr && is_now != nullptr && seen->is_number() &&
                         is_now->is_number() && *seen < *is_now;
        return old ? Condition()
                   : Condition{text_at(entry, "status"), text_at(entry, "reason"),
                               text_at(entry, "message")};
      }
    }
  }
  return {};
}

std::string words_of(const Condition& condition) {
  constexpr std::size_t kMost = 500;
  const std::string both =
      condition.reason + (condition.message.empty() ? "" : ": ") + condition.message;
  return both.empty() ? "the cluster has not said anything yet" : escape_text(both, kMost);
}

void read_state(const Json& sandbox, SandboxFacts& facts) {
  constexpr std::array<std::string_view, 3> kHopeless = {"PodFailed", "PodSucceeded",
                                                         "SandboxExpired"};
  const Condition ready = condition_of(sandbox, "Ready");
  const Condition suspended = condition_of(sandbox, "Suspended");
  facts.wants_to_run = text_at(sandbox, "spec/operatingMode") != "Suspended";
  facts.being_deleted = !metadata_text(sandbox, "deletionTimestamp").empty();
  facts.reason = words_of(ready);
  if (facts.being_deleted) {
    facts.reason = "being deleted";
  } else if (!facts.wants_to_run) {
    const bool done = suspended.status == "True";
    facts.state = done ? State::kSuspended : State::kPending;
    facts.reason = done ? "" : "being suspended";
  } else if (ready.status == "True") {
    facts.state = State::kRunning;
    facts.reason.clear();
  } else if (std::find(kHopeless.begin(), kHopeless.end(), ready.reason) != kHopeless.end()) {
    facts.state = State::kFailed;
    facts.hopeless = true;
  } else if (ready.reason == "ReconcilerError" || ready.reason == "MultiplePods") {
    facts.state = State::kFailed;
    facts.may_recover = true;
  }
}

Failure strange(const BoxName& name, const std::string& what) {
  return Failure{Exit::kRefused, "Sandbox " + name.text() + ": " + what,
                 "look at it with kubectl get sandbox -o yaml; what it says is not passed on"};
}

Result<Gateway> read_gateway(const Json& sandbox) {
  constexpr std::string_view kAnnotations = "metadata/annotations";
  const std::string text = entry_of(sandbox, kAnnotations, kGatewayAnnotation);
  if (text.empty()) {
    return Gateway{};
  }
  AB_TRY(gateway, parse_gateway(text, entry_of(sandbox, kAnnotations, kGatewayAddressAnnotation)));
  const std::string host_key = entry_of(sandbox, kAnnotations, kGatewayHostKeyAnnotation);
  AB_TRY(key, PublicKey::parse(host_key));
  if (key.text() != host_key) {
    return Error{Code::kInvalid, "its host key is not one key alone"};
  }
  gateway.host_key = host_key;
  return gateway;
}

}  // namespace

bool is_labelled(const Json& object, const BoxName& name) {
  return entry_of(object, "metadata/labels", kManagedByLabel) == kManagedBy &&
         entry_of(object, "metadata/labels", kBoxLabel) == name.text();
}

Answer<SandboxFacts> read_sandbox(const Json& sandbox, const BoxName& name, const std::string& ns) {
  if (!is_labelled(sandbox, name)) {
    return Failure{Exit::kRefused,
                   "there is a Sandbox " + name.text() + ", and agentbox-provision did not make it",
                   "choose another name; nothing was changed"};
  }
  SandboxFacts facts;
  facts.uid = metadata_text(sandbox, "uid");
  read_state(sandbox, facts);
  facts.host = text_at(sandbox, "status/serviceFQDN");
  if (!facts.host.empty() &&
      (!is_dns_name(facts.host) || !facts.host.starts_with(name.text() + "." + ns + ".svc."))) {
    return strange(name, "its service has a strange name");
  }
  facts.host_key = entry_of(sandbox, "metadata/annotations", kHostKeyAnnotation);
  const auto host_key = PublicKey::parse(facts.host_key);
  if (!host_key.ok() || host_key->type() != "ssh-ed25519" || host_key->text() != facts.host_key) {
    return strange(name, "its host key's annotation is no ed25519 key");
  }
  facts.egress = escape_text(entry_of(sandbox, "metadata/annotations", kEgressAnnotation), 300);
  constexpr std::string_view kPodAnnotations = "spec/podTemplate/metadata/annotations";
  auto keys = parse_keys_annotation(entry_of(sandbox, kPodAnnotations, kKeysAnnotation));
  if (!keys.ok()) {
    return strange(name, "its keys: " + keys.error().what);
  }
  facts.keys = std::move(keys).value();
  auto authorities = parse_keys_annotation(entry_of(sandbox, kPodAnnotations, kUserCaAnnotation));
  if (!authorities.ok()) {
    return strange(name, "its user CAs: " + authorities.error().what);
  }
  facts.authorities = std::move(authorities).value();
  auto revoked = parse_revoked_annotation(entry_of(sandbox, kPodAnnotations, kRevokedAnnotation));
  if (!revoked.ok()) {
    return strange(name, revoked.error().what);
  }
  facts.revoked = std::move(revoked).value();
  const auto generation = parse_decimal(entry_of(sandbox, kPodAnnotations, kGenerationAnnotation));
  facts.generation = generation.ok() ? *generation : 0;
  const std::string pod = entry_of(sandbox, "metadata/annotations", "agents.x-k8s.io/pod-name");
  facts.pod = is_dns_name(pod) ? pod : name.text();
  facts.door_keys = facts.keys;
  auto gateway = read_gateway(sandbox);
  if (!gateway.ok()) {
    return strange(name, "its gateway: " + gateway.error().what);
  }
  facts.gateway = std::move(gateway).value();
  return facts;
}

Done add_pipe(const Json* live, const BoxName& name, const std::string& ns, SandboxFacts& facts) {
  facts.keys.clear();
  facts.has_pipe = live != nullptr;
  if (live == nullptr) {
    return {};
  }
  AB_TRY(
      pipe,
      read_pipe(*live,
                PipePlan{name, ns, facts.uid, facts.gateway, facts.host, facts.host_key, {}, {}}));
  facts.keys = std::move(pipe.keys);
  facts.pipe_problems = std::move(pipe.problems);
  const bool taken =
      std::any_of(facts.door_keys.begin(), facts.door_keys.end(),
                  [&](const NamedKey& entry) { return entry.key.text() == pipe.upstream_key; });
  if (!taken) {
    facts.pipe_problems.emplace_back(
        "the gateway's key for the box is not the one that the box lets in");
  }
  return {};
}

std::uint64_t pod_generation(const Json& pod) {
  const auto number = parse_decimal(entry_of(pod, "metadata/annotations", kGenerationAnnotation));
  return number.ok() ? *number : 0;
}

std::string unsupported(const Json& group) {
  const Json* versions = find_member(group, "versions");
  std::string served;
  if (versions != nullptr && versions->is_array()) {
    for (const Json& entry : *versions) {
      const std::string version = text_at(entry, "version");
      if (version == "v1beta1") {
        return {};
      }
      served += (served.empty() ? "" : ", ") + escape_text(version, 40);
    }
  }
  return "the cluster serves agents.x-k8s.io only as " + (served.empty() ? "nothing" : served) +
         ", and v1beta1 is needed";
}

}  // namespace agentbox::provision::kube
