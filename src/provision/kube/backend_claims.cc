// edge: see backend.h: boxes that are claims on a pool of Sandboxes that wait. Their host key is
// the door's own and is learned from its log before the first key is written; their keys go through
// the claim, which the controller copies to the Sandbox.
#include <poll.h>

#include <utility>

#include "base/defence.h"
#include "base/log.h"
#include "base/text.h"
#include "provision/handoff.h"
#include "provision/keys.h"
#include "provision/kube/backend.h"
#include "provision/kube/manifests.h"
#include "provision/kube/pool_facts.h"
#include "provision/told_host_key.h"

namespace agentbox::provision::kube {
namespace {

using std::chrono::steady_clock;

constexpr int kPauseMs = 200;

Failure no_gateway() {
  return Failure{Exit::kUsage, "--gateway does not know boxes of pools yet",
                 "leave it out, or leave --from-pool out"};
}

// What a claim cannot ask for: its pod was made before anybody knew of it.
Done check_options(const CreateOptions& options, const WantedBox& wanted) {
  if (options.no_isolation || !options.workspace.empty()) {
    return Failure{Exit::kUsage, "--workspace and --no-isolation are for boxes on this machine",
                   "leave them out, or leave --from-pool out"};
  }
  if (wanted.cluster.gateway.kind != GatewayKind::kNone) {
    return no_gateway();
  }
  // Also what is the default: the template may say otherwise, and it is what counts.
  if (wanted.cluster_settings.empty()) {
    return {};
  }
  std::string names;
  for (const std::string& name : wanted.cluster_settings) {
    names += (names.empty() ? "" : ", ") + name;
  }
  return Failure{Exit::kUsage,
                 "--from-pool takes a pod that runs already, as its template made it: " + names +
                     " would need a pod made for this box, which is no start from a pool",
                 "put " + names + " into the template, or leave --from-pool out"};
}

}  // namespace

Answer<std::optional<Json>> KubeBackend::find_claim(const BoxName& name) const {
  auto claim = client_->find(kClaims, name.text());
  if (!claim.ok() && is_unknown_kind(claim.error())) {
    return std::optional<Json>();
  }
  return claim;
}

Answer<SandboxFacts> KubeBackend::look_at_claim(const BoxName& name, const Json& claim) const {
  AB_TRY(sandbox, sandbox_of_claim(claim));
  std::optional<Json> live;
  if (!sandbox.empty()) {
    AB_TRY(found, client_->find(kSandboxes, sandbox));
    live = std::move(found);
  }
  return read_claim(claim, live ? &*live : nullptr, name, client_->ns());
}

Answer<std::vector<BoxView>> KubeBackend::claimed_views() const {
  std::vector<BoxView> views;
  auto items = client_->list(kClaims, std::string(kManagedByLabel) + "=" + kManagedBy);
  if (!items.ok()) {
    return is_unknown_kind(items.error()) ? Answer<std::vector<BoxView>>(std::move(views))
                                          : items.error();
  }
  for (const Json& item : *items) {
    const auto name = BoxName::parse(metadata_text(item, "name"));
    if (!name.ok()) {
      continue;
    }
    const auto facts = look_at_claim(*name, item);
    if (!facts.ok()) {
      log::warning("a SandboxClaim is left out", {{"why", facts.error().message}});
      continue;
    }
    AB_TRY(seen, show(*name, *facts, false));
    views.push_back(std::move(seen));
  }
  return views;
}

Answer<std::string> KubeBackend::missing_for(const std::string& pool) const {
  AB_TRY(live, client_->find(kPools, pool));
  if (!live) {
    return "pool " + pool;
  }
  const std::string from = template_of_pool(*live);
  if (from.empty()) {
    return "a template for pool " + pool;
  }
  AB_TRY(found, client_->find(kTemplates, from));
  return found ? std::string() : "template " + from;
}

// A pool of somebody else's pods would leave a box without a door.
Done KubeBackend::check_pool(const std::string& pool) const {
  AB_TRY(missing, missing_for(pool));
  if (!missing.empty()) {
    return Failure{Exit::kRefused, "there is no " + missing,
                   "`agentbox-provision pool list` shows what there is; nothing was changed"};
  }
  AB_TRY(live, client_->find(kPools, pool));
  AB_TRY(from, client_->find(kTemplates, live ? template_of_pool(*live) : ""));
  if (!live || !from || !is_made_here(*from)) {
    return Failure{Exit::kRefused,
                   "the template of pool " + pool +
                       " was not made by agentbox-provision: there "
                       "need not be a door in its pods",
                   "`agentbox-provision template apply` makes one; nothing was changed"};
  }
  const Json* ready = find_path(*live, "status/readyReplicas");
  if (ready == nullptr || *ready == Json(0)) {
    log::warning("no pod of the pool is ready: one is made for this box, which takes longer",
                 {{"pool", pool}});
  }
  return {};
}

Answer<Backend::Changed> KubeBackend::create_from_pool(const BoxName& name,
                                                       const CreateOptions& options) const {
  AB_TRY(wanted, read_wanted_box(options));
  AB_CHECK(check_options(options, wanted));
  AB_CHECK(check_served(kSandboxes));
  AB_CHECK(check_served(kClaims));
  const auto deadline = steady_clock::now() + std::chrono::seconds(options.wait_seconds);
  AB_TRY(existing, look(name));
  if (existing) {
    std::vector<std::string> found;
    if (existing->pool != options.pool) {
      found.push_back((existing->pool.empty() ? "it is from no pool"
                                              : "it is from the pool " + existing->pool) +
                      ", asked for is " + options.pool);
    }
    if (std::string other = other_keys(wanted, *existing); !other.empty()) {
      found.push_back(std::move(other));
    }
    if (!found.empty()) {
      return another_box(name, found);
    }
    if (existing->being_deleted) {
      return Failure{Exit::kUnreachable,
                     "an earlier box " + name.text() + " is still being removed",
                     "run the command again in a moment"};
    }
  } else {
    AB_CHECK(check_pool(options.pool));
    AB_TRY(tried, client_->apply(kClaims, sandbox_claim(name, client_->ns(), options.pool, ""),
                                 kBaseManager, true));
    static_cast<void>(tried);
  }
  AB_TRY(lock, store_.lock_new(name));
  AB_TRY(stored, store_.load(name));
  const bool finished = is_finished(existing, stored);
  if (finished) {
    AB_CHECK(pin(name, *existing, stored));
  } else {
    AB_CHECK(make_claim(name, options.pool, wanted, existing, deadline));
  }
  AB_TRY(facts, look_existing(name));
  AB_TRY(seen, show(name, facts, finished));
  if (!finished) {
    AB_CHECK(prove_start(facts, seen));
  }
  return Changed{std::move(seen), !finished};
}

// Every step may have been done by a run that was cut short; each finds that out by itself. The
// host key comes before the first key: afterwards whoever it lets in could have a say in it.
Done KubeBackend::make_claim(const BoxName& name, const std::string& pool, const WantedBox& wanted,
                             const std::optional<SandboxFacts>& existing, Deadline deadline) const {
  const std::string& ns = client_->ns();
  BoxRecord record = record_of(name, existing.value_or(SandboxFacts{}));
  record.phase = Phase::kCreating;
  record.spec = wanted.spec;
  record.generation = std::max<std::uint64_t>(record.generation, 1);
  AB_TRY(keys, settle_keys(name, wanted, record));
  record.keys = keys;
  const DoorKeys door{record.keys, existing ? existing->revoked : std::vector<std::string>(),
                      record.generation, record.spec.authorities};
  AB_TRY(part, keys_part(in_claim(name.text()), ns, door));
  log::info("sandbox claim", {{"name", name.text()}, {"namespace", ns}, {"pool", pool}});
  const auto claim_with = [&](const std::string& host_key) {
    return client_->apply(kClaims, sandbox_claim(name, ns, pool, host_key), kBaseManager);
  };
  AB_TRY(claim, claim_with(record.host_key));
  AB_CHECK(wait_bound(name, deadline));
  AB_TRY(bound, look_at_claim(name, claim));
  if (bound.sandbox.empty()) {  // the answer to the apply may be older than its Sandbox
    AB_TRY(now, look_existing(name));
    bound = std::move(now);
  }
  log::info("sandbox", {{"name", bound.sandbox}});
  AB_CHECK(wait_running(name, bound.sandbox, deadline));
  if (record.host_key.empty()) {
    AB_TRY(host_key, learn_host_key(bound));
    record.host_key = std::move(host_key);
    AB_TRY(told, claim_with(record.host_key));
    static_cast<void>(told);
  }
  AB_CHECK(store_.save(record));
  AB_CHECK(replace_file(store_.paths(name).known_hosts,
                        known_hosts_text(name.text(), record.host_key), 0600));
  log::info("keys", {{"generation", std::to_string(record.generation)}});
  AB_TRY(with_keys, client_->apply(kClaims, part, kKeysManager));
  AB_TRY(facts, look_at_claim(name, with_keys));
  if (facts.sandbox_uid != bound.sandbox_uid) {
    return Failure{Exit::kFailed,
                   "SandboxClaim " + name.text() +
                       " has got another Sandbox than the one whose "
                       "host key was read",
                   "delete the box and make it again"};
  }
  std::string note;
  AB_CHECK(pass_keys_on(facts, door, note));
  AB_CHECK(check_claimed_pod(name, facts));
  record.phase = Phase::kRunning;
  return store_.save(record);
}

Done KubeBackend::wait_bound(const BoxName& name, Deadline deadline) const {
  const auto judge = [&](const Json* object) -> Answer<Client::Verdict> {
    if (object == nullptr) {
      return Failure{Exit::kFailed,
                     "SandboxClaim " + name.text() + " was deleted while it was waited for",
                     "run the command again"};
    }
    AB_TRY(sandbox, sandbox_of_claim(*object));
    const RunFacts facts = claim_facts(*object);
    if (sandbox.empty() && facts.hopeless) {
      return Failure{
          Exit::kFailed, "SandboxClaim " + name.text() + " gets no Sandbox: " + facts.reason,
          "kubectl describe sandboxclaim " + name.text() + " says more; then delete the box"};
    }
    Client::Verdict verdict{!sandbox.empty(), "Sandbox for it (" + facts.reason + ")", {}};
    if (facts.may_recover) {
      verdict.no_later_than = steady_clock::now() + kRecoveryTime;
    }
    return verdict;
  };
  Done bound = client_->wait(kClaims, name.text(), judge, deadline);
  if (bound.ok() || bound.error().exit != Exit::kUnreachable) {
    return bound;
  }
  Failure failure = std::move(bound).error();
  const auto same = client_->find(kSandboxes, name.text());
  if (same.ok() && *same && is_owned(**same, kClaims.kind, "")) {
    failure.message += "; there is a Sandbox " + name.text() +
                       " that a claim owns: its controller has not recorded it";
    failure.next = "see the controller's log; nothing was made twice, and delete removes the claim";
  }
  return failure;
}

Answer<std::string> KubeBackend::learn_host_key(const SandboxFacts& facts) const {
  const auto deadline = steady_clock::now() + kToldTime;
  const auto unknown = [&](const std::string& why) {
    return Failure{Exit::kRefused, "the host key of Pod " + facts.pod + " cannot be known: " + why,
                   "delete the box and take another; no key was written to it"};
  };
  const auto problem = [&](const std::optional<Json>& pod) -> std::string {
    if (!pod) {
      return "the pod is gone";
    }
    return defended("first-start") ? no_first_start(*pod, facts.sandbox_uid) : "";
  };
  for (;;) {
    AB_TRY(pod, client_->find(kPods, facts.pod));
    if (const std::string why = problem(pod); !why.empty()) {
      return unknown(why);
    }
    LogQuery query;
    query.container = "door";
    query.max_bytes = kMaxToldBytes;
    AB_TRY(text, client_->pod_log(facts.pod, query));
    auto told = host_key_told(text);
    if (!told.ok()) {
      return unknown(told.error().what);
    }
    // The log is that of the pod looked at above, unless it has been replaced in between.
    AB_TRY(after, client_->find(kPods, facts.pod));
    const bool same =
        problem(after).empty() && metadata_text(*after, "uid") == metadata_text(*pod, "uid");
    if (*told && same) {
      log::info("host key", {{"pod", facts.pod}, {"fingerprint", (*told)->fingerprint()}});
      return (*told)->text();
    }
    if (steady_clock::now() >= deadline) {
      return Failure{Exit::kUnreachable,
                     "Pod " + facts.pod + ": its door has not told its host key in time",
                     "kubectl logs " + facts.pod + " -c door says how it is"};
    }
    ::poll(nullptr, 0, kPauseMs);  // the log has no watch that says when a line has come
  }
}

// The pod must be what its Sandbox says, and nothing besides.
Done KubeBackend::check_claimed_pod(const BoxName& name, const SandboxFacts& facts) const {
  AB_TRY(live, client_->find(kSandboxes, facts.sandbox));
  if (!live) {
    return Failure{Exit::kFailed, "Sandbox " + facts.sandbox + " is gone", "run the command again"};
  }
  const OrderedJson wanted = OrderedJson::parse(dump_json(*live));
  return wait_pod(name, facts, &wanted);
}

Done KubeBackend::pass_keys_on(const SandboxFacts& facts, const DoorKeys& keys,
                               std::string& note) const {
  const auto deadline = steady_clock::now() + kKeysTime;
  const auto judge = [&](const Json* object) -> Answer<Client::Verdict> {
    return Client::Verdict{object != nullptr && sandbox_generation(*object) == keys.generation,
                           "generation " + std::to_string(keys.generation) + " of its keys",
                           {}};
  };
  // Whoever may not look at pools learns from the wait that the keys went nowhere.
  const auto known_missing = [&] {
    auto answer = missing_for(facts.pool);
    return answer.ok() ? *answer : std::string();
  };
  std::string missing = known_missing();
  if (missing.empty()) {
    Done passed = client_->wait(kSandboxes, facts.sandbox, judge, deadline);
    if (passed.ok() || passed.error().exit != Exit::kUnreachable) {
      return passed;
    }
    missing = known_missing();
    if (missing.empty()) {
      return passed;
    }
  }
  // The controller does nothing for the claim then: the old keys would go on for ever.
  AB_TRY(part, keys_part(in_sandbox(facts.sandbox), client_->ns(), keys));
  AB_TRY(patched, client_->patch_metadata(kSandboxes, facts.sandbox, part, kKeysManager));
  static_cast<void>(patched);
  note = missing + " is missing, so the keys were written to Sandbox " + facts.sandbox + " itself";
  log::warning(
      "the claim's pool or template is missing: its controller passes no keys on, and "
      "they were written to the Sandbox itself",
      {{"missing", missing}, {"sandbox", facts.sandbox}});
  return {};
}

}  // namespace agentbox::provision::kube
