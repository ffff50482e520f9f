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

// Where the condition is about the object as it is now.
void judge_ready(const Condition& ready, RunFacts& facts) {
  constexpr std::array<std::string_view, 7> kHopeless = {"PodFailed",
                                                         "PodSucceeded",
                                                         "SandboxExpired",
                                                         "ClaimExpired",
                                                         "InvalidMetadata",
                                                         "EnvVarsInjectionRejected",
                                                         "VolumeClaimTemplatesError"};
  constexpr std::array<std::string_view, 4> kRecovering = {"ReconcilerError", "MultiplePods",
                                                           "WarmPoolNotFound", "TemplateNotFound"};
  facts.reason = words_of(ready);
  if (ready.status == "True") {
    facts.state = State::kRunning;
    facts.reason.clear();
  } else if (std::find(kHopeless.begin(), kHopeless.end(), ready.reason) != kHopeless.end()) {
    facts.state = State::kFailed;
    facts.hopeless = true;
  } else if (std::find(kRecovering.begin(), kRecovering.end(), ready.reason) != kRecovering.end()) {
    facts.state = State::kFailed;
    facts.may_recover = true;
  }
}

Failure strange(const char* kind, const BoxName& name, const std::string& what) {
  return Failure{Exit::kRefused, std::string(kind) + " " + name.text() + ": " + what,
                 "look at it with kubectl get -o yaml; what it says is not passed on"};
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

Failure not_ours(const char* kind, const BoxName& name) {
  return Failure{Exit::kRefused,
                 std::string("there is a ") + kind + " " + name.text() +
                     ", and agentbox-provision did not make it",
                 "choose another name; nothing was changed"};
}

// Who may enter, from the annotations at PATH of OBJECT.
Done read_keys(const char* kind, const Json& object, std::string_view path, const BoxName& name,
               SandboxFacts& facts) {
  auto keys = parse_keys_annotation(entry_of(object, path, kKeysAnnotation));
  if (!keys.ok()) {
    return strange(kind, name, "its keys: " + keys.error().what);
  }
  facts.keys = std::move(keys).value();
  auto authorities = parse_keys_annotation(entry_of(object, path, kUserCaAnnotation));
  if (!authorities.ok()) {
    return strange(kind, name, "its user CAs: " + authorities.error().what);
  }
  facts.authorities = std::move(authorities).value();
  auto revoked = parse_revoked_annotation(entry_of(object, path, kRevokedAnnotation));
  if (!revoked.ok()) {
    return strange(kind, name, revoked.error().what);
  }
  facts.revoked = std::move(revoked).value();
  const auto generation = parse_decimal(entry_of(object, path, kGenerationAnnotation));
  facts.generation = generation.ok() ? *generation : 0;
  return {};
}

Done read_host_key(const char* kind, const Json& object, const BoxName& name, SandboxFacts& facts) {
  facts.host_key = entry_of(object, "metadata/annotations", kHostKeyAnnotation);
  const auto host_key = PublicKey::parse(facts.host_key);
  if (!host_key.ok() || host_key->type() != "ssh-ed25519" || host_key->text() != facts.host_key) {
    return strange(kind, name, "its host key's annotation is no ed25519 key");
  }
  return {};
}

// Where the Sandbox is reached, and which pod it is.
Done read_place(const Json& sandbox, const BoxName& name, const std::string& ns,
                SandboxFacts& facts) {
  facts.sandbox_uid = metadata_text(sandbox, "uid");
  facts.host = text_at(sandbox, "status/serviceFQDN");
  if (!facts.host.empty() &&
      (!is_dns_name(facts.host) || !facts.host.starts_with(facts.sandbox + "." + ns + ".svc."))) {
    return strange("Sandbox", name, "its service has a strange name");
  }
  facts.pod = pod_of_sandbox(sandbox);
  return {};
}

constexpr std::string_view kPodAnnotations = "spec/podTemplate/metadata/annotations";
constexpr std::string_view kClaimAnnotations = "spec/additionalPodMetadata/annotations";

}  // namespace

std::string pod_of_sandbox(const Json& sandbox) {
  const std::string pod = entry_of(sandbox, "metadata/annotations", "agents.x-k8s.io/pod-name");
  return is_dns_name(pod) ? pod : metadata_text(sandbox, "name");
}

RunFacts run_facts(const Json& sandbox) {
  RunFacts facts;
  facts.wants_to_run = text_at(sandbox, "spec/operatingMode") != "Suspended";
  facts.being_deleted = !metadata_text(sandbox, "deletionTimestamp").empty();
  if (facts.being_deleted) {
    facts.reason = "being deleted";
  } else if (!facts.wants_to_run) {
    const bool done = condition_of(sandbox, "Suspended").status == "True";
    facts.state = done ? State::kSuspended : State::kPending;
    facts.reason = done ? "" : "being suspended";
  } else {
    judge_ready(condition_of(sandbox, "Ready"), facts);
  }
  return facts;
}

RunFacts claim_facts(const Json& claim) {
  RunFacts facts;
  facts.being_deleted = !metadata_text(claim, "deletionTimestamp").empty();
  judge_ready(condition_of(claim, "Ready"), facts);
  if (facts.being_deleted || facts.state == State::kRunning) {
    facts.state = State::kPending;  // it has no Sandbox that it could be true of
    facts.reason = facts.being_deleted ? "being deleted" : "no Sandbox is named";
  }
  return facts;
}

bool is_labelled(const Json& object, const BoxName& name) {
  return entry_of(object, "metadata/labels", kManagedByLabel) == kManagedBy &&
         entry_of(object, "metadata/labels", kBoxLabel) == name.text();
}

bool is_owned(const Json& owned, std::string_view kind, std::string_view uid) {
  const Json* owners = find_path(owned, "metadata/ownerReferences");
  return owners != nullptr && owners->is_array() &&
         std::any_of(owners->begin(), owners->end(), [&](const Json& owner) {
           return text_at(owner, "kind") == kind && (uid.empty() || text_at(owner, "uid") == uid);
         });
}

Answer<SandboxFacts> read_sandbox(const Json& sandbox, const BoxName& name, const std::string& ns) {
  if (!is_labelled(sandbox, name)) {
    return not_ours("Sandbox", name);
  }
  SandboxFacts facts;
  static_cast<RunFacts&>(facts) = run_facts(sandbox);
  facts.uid = metadata_text(sandbox, "uid");
  facts.sandbox = name.text();
  AB_CHECK(read_place(sandbox, name, ns, facts));
  AB_CHECK(read_host_key("Sandbox", sandbox, name, facts));
  facts.egress = escape_text(entry_of(sandbox, "metadata/annotations", kEgressAnnotation), 300);
  AB_CHECK(read_keys("Sandbox", sandbox, kPodAnnotations, name, facts));
  facts.door_keys = facts.keys;
  auto gateway = read_gateway(sandbox);
  if (!gateway.ok()) {
    return strange("Sandbox", name, "its gateway: " + gateway.error().what);
  }
  facts.gateway = std::move(gateway).value();
  const Json* volumes = find_path(sandbox, "spec/podTemplate/spec/volumes");
  if (volumes != nullptr && volumes->is_array()) {
    for (const Json& volume : *volumes) {
      if (text_at(volume, "persistentVolumeClaim/claimName") == data_name(name)) {
        facts.retained = data_name(name);
      }
    }
  }
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

Answer<std::string> sandbox_of_claim(const Json& claim) {
  constexpr std::size_t kMaxLabelBytes = 63;
  const std::string sandbox = text_at(claim, "status/sandbox/name");
  if (!sandbox.empty() && (sandbox.size() > kMaxLabelBytes || !is_dns_name(sandbox) ||
                           sandbox.find('.') != std::string::npos)) {
    return Failure{Exit::kRefused,
                   "SandboxClaim " + escape_text(metadata_text(claim, "name"), 80) +
                       ": the Sandbox that it names has a strange name",
                   "look at it with kubectl get -o yaml; what it says is not passed on"};
  }
  return sandbox;
}

Answer<SandboxFacts> read_claim(const Json& claim, const Json* sandbox, const BoxName& name,
                                const std::string& ns) {
  if (!is_labelled(claim, name)) {
    return not_ours("SandboxClaim", name);
  }
  SandboxFacts facts;
  static_cast<RunFacts&>(facts) = sandbox == nullptr ? claim_facts(claim) : run_facts(*sandbox);
  facts.being_deleted = facts.being_deleted || claim_facts(claim).being_deleted;
  facts.uid = metadata_text(claim, "uid");
  facts.pool = text_at(claim, "spec/warmPoolRef/name");
  if (!is_dns_name(facts.pool)) {
    return strange("SandboxClaim", name, "its pool has a strange name");
  }
  AB_CHECK(read_keys("SandboxClaim", claim, kClaimAnnotations, name, facts));
  facts.door_keys = facts.keys;
  if (!entry_of(claim, "metadata/annotations", kHostKeyAnnotation).empty() ||
      facts.generation != 0) {
    AB_CHECK(read_host_key("SandboxClaim", claim, name, facts));
  }
  if (sandbox == nullptr) {
    return facts;
  }
  AB_TRY(got, sandbox_of_claim(claim));
  facts.sandbox = got;
  if (!is_owned(*sandbox, "SandboxClaim", facts.uid)) {
    return strange("SandboxClaim", name, "Sandbox " + facts.sandbox + " is not its own");
  }
  AB_CHECK(read_place(*sandbox, name, ns, facts));
  facts.egress = escape_text(entry_of(*sandbox, kPodAnnotations, kEgressAnnotation), 300);
  return facts;
}

std::string no_first_start(const Json& pod, const std::string& sandbox_uid) {
  if (!is_owned(pod, "Sandbox", sandbox_uid)) {
    return "it is not the pod of its Sandbox";
  }
  const Json* list = find_path(pod, "status/containerStatuses");
  if (list != nullptr && list->is_array()) {
    for (const Json& container : *list) {
      const Json* restarts = find_member(container, "restartCount");
      if (text_at(container, "name") == "door") {
        return restarts != nullptr && *restarts == Json(0)
                   ? ""
                   : "its door has been started again, and the log of the first start is gone";
      }
    }
  }
  return "it does not say how often its door was started";
}

std::uint64_t sandbox_generation(const Json& sandbox) {
  const auto number = parse_decimal(entry_of(sandbox, kPodAnnotations, kGenerationAnnotation));
  return number.ok() ? *number : 0;
}

std::uint64_t pod_generation(const Json& pod) {
  const auto number = parse_decimal(entry_of(pod, "metadata/annotations", kGenerationAnnotation));
  return number.ok() ? *number : 0;
}

std::string unsupported(const Json& group, std::string_view name) {
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
  return "the cluster serves " + std::string(name) + " only as " +
         (served.empty() ? "nothing" : served) + ", and v1beta1 is needed";
}

}  // namespace agentbox::provision::kube
