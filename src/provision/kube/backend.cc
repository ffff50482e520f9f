// edge: see backend.h.
#include "provision/kube/backend.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/defence.h"
#include "base/log.h"
#include "base/ssh_client.h"
#include "base/ssh_key.h"
#include "base/text.h"
#include "provision/handoff.h"
#include "provision/keys.h"
#include "provision/kube/door_log.h"
#include "provision/kube/manifests.h"
#include "provision/kube/pipe.h"
#include "provision/kube/pod_wait.h"
#include "provision/kube/pool_facts.h"
#include "provision/kube/surroundings.h"
#include "provision/kube/yaml_text.h"
#include "provision/proof.h"

namespace agentbox::provision::kube {
namespace {

using std::chrono::steady_clock;

/// Lines of the door's stream that are read for each one wanted of its log or audit, and at least.
constexpr std::uint64_t kLinesForOne = 8;
constexpr std::uint64_t kLeastLines = 500;
/// Between two proofs of a box that has just been started.
constexpr int kProofPauseMs = 200;
/// Of a known_hosts of ours: two lines.
constexpr std::size_t kMaxPinBytes = 64U << 10U;

// What SPEC and the keys given differ in from the Sandbox LIVE, in words.
std::vector<std::string> differences_of(const BoxName& name, const std::string& ns,
                                        const KubeSpec& spec, const WantedBox& wanted,
                                        const SandboxFacts& facts, const Json& live) {
  std::vector<std::string> found = changes_between(sandbox(name, ns, spec, facts.host_key), live);
  if (facts.gateway.kind != GatewayKind::kNone && spec.gateway.kind == GatewayKind::kNone) {
    found.push_back("its gateway is " + gateway_text(facts.gateway) + ", asked for is none");
  }
  if (std::string other = other_keys(wanted, facts); !other.empty()) {
    found.push_back(std::move(other));
  }
  return found;
}

std::string other_pin(const BoxName& name, const Store& store, const std::string& what) {
  return what + " is not the one that is pinned here; if the box was made anew elsewhere, remove " +
         store.paths(name).box;
}

Answer<KubeSpec> kube_spec_of(const CreateOptions& options, const WantedBox& wanted) {
  if (options.no_isolation || !options.workspace.empty()) {
    return Failure{Exit::kUsage, "--workspace and --no-isolation are for boxes on this machine",
                   "leave them out, or leave --kubernetes out"};
  }
  if (auto good = check_spec(wanted.cluster); !good.ok()) {
    return Failure{Exit::kUsage, std::move(good).error().what,
                   "config/provision.example.yaml shows every key of the file"};
  }
  const bool piped = wanted.cluster.gateway.kind == GatewayKind::kSshpiper;
  if (piped && !wanted.spec.authorities.empty()) {
    return Failure{Exit::kUsage, "sshpiper takes no certificates: --user-ca would let nobody in",
                   "list keys, or use a jump host"};
  }
  if (piped) {
    AB_CHECK(check_piped_keys(wanted.keys));
  }
  return wanted.cluster;
}

}  // namespace

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) {
    all += (all.empty() ? "" : "; ") + text;
  }
  return all;
}

std::string other_keys(const WantedBox& wanted, const SandboxFacts& facts) {
  const bool same =
      wanted.keys.empty() || facts.keys.empty() || described(wanted.keys) == described(facts.keys);
  return same ? ""
              : "its keys are " + joined(described(facts.keys)) + ", asked for are " +
                    joined(described(wanted.keys));
}

Failure another_box(const BoxName& name, const std::vector<std::string>& differences) {
  return Failure{Exit::kRefused,
                 "box " + name.text() + " exists and is another one: " + joined(differences),
                 "choose another name, or delete it first; nothing was changed"};
}

bool is_finished(const std::optional<SandboxFacts>& existing,
                 const std::optional<BoxRecord>& stored) {
  return existing && existing->generation > 0 && (!stored || stored->phase == Phase::kRunning) &&
         (existing->state == State::kRunning || existing->state == State::kSuspended);
}

bool is_unknown_kind(const Failure& failure) {
  return failure.message.find("answers 404") != std::string::npos;
}

BoxRecord record_of(const BoxName& name, const SandboxFacts& facts) {
  BoxRecord record = new_record(name);
  record.phase = Phase::kRunning;
  record.keys = facts.keys;
  record.host_key = facts.host_key;
  record.generation = facts.generation;
  record.port = kDoorPort;
  record.spec.authorities = facts.authorities;
  for (const std::string& line : facts.revoked) {
    if (const auto serial = serial_of(line); serial.ok()) {
      record.revoked_serials.push_back(*serial);
    }
  }
  return record;
}

Result<std::vector<OrderedJson>> objects_of(const BoxName& name, const std::string& ns,
                                            const KubeSpec& spec, const WantedBox& wanted) {
  const std::string unknown = "made at create";
  OrderedJson box = sandbox(name, ns, spec, unknown);
  const bool piped = spec.gateway.kind == GatewayKind::kSshpiper;
  AB_TRY(keys,
         sandbox_keys(
             name, ns,
             {piped ? std::vector<NamedKey>() : wanted.keys, {}, 1, wanted.spec.authorities}));
  box.merge_patch(keys);
  std::vector<OrderedJson> objects = {network_policy(name, ns, spec),
                                      host_key_secret(name, ns, unknown, "")};
  if (spec.retain_data) {
    objects.push_back(retained_claim(name, ns, spec));
  }
  objects.push_back(std::move(box));
  if (piped) {
    objects.push_back(upstream_secret(name, ns, spec.gateway.ns, unknown, ""));
    objects.push_back(
        pipe({name, ns, "", spec.gateway, name.text() + "." + ns + ".svc.cluster.local", unknown,
              unknown, wanted.keys}));
  }
  return objects;
}

BoxRecord record_of(const BoxName& name, const SandboxFacts& facts,
                    const std::optional<BoxRecord>& stored) {
  BoxRecord record = record_of(name, facts);
  if (stored) {
    record.spec = stored->spec;
    record.spec.authorities = facts.authorities;
    record.former = stored->former;
    record.revoked = stored->revoked;
    record.revoked_prints = stored->revoked_prints;
    record.identity_file = stored->identity_file;
  }
  return record;
}

Answer<std::unique_ptr<KubeBackend>> KubeBackend::open(const AccessOptions& options,
                                                       const Store& state) {
  AB_TRY(client, Client::open(options));
  // A box is the same one only on the same server: two clusters may have one namespace's name.
  const std::string cluster = sha256_hex(client.server()).substr(0, 16);
  Store store = state.within("clusters/" + cluster + "/" + client.ns());
  auto owned = std::make_unique<Client>(std::move(client));
  const Way way = options.port_forward ? Way::kPortForward : Way::kService;
  return std::make_unique<KubeBackend>(std::move(owned), std::move(store), way);
}

Done KubeBackend::check_served(const Resource& resource) const {
  const std::string version = resource.group_version;
  const std::string name = version.substr(0, version.find('/'));
  auto group = client_->get("/apis/" + name);
  std::string why;
  if (group.ok()) {
    why = unsupported(*group, name);
  } else if (is_unknown_kind(group.error())) {
    why = "the cluster has no " + name + ": " +
          (resource.plural == kSandboxes.plural
               ? "the agent-sandbox controller is not installed"
               : "the agent-sandbox controller runs without its extensions");
  } else {
    return group.error();
  }
  return why.empty() ? Done()
                     : Done(Failure{Exit::kRefused, why,
                                    "install agent-sandbox v0.5 or later; nothing was changed"});
}

// A claim that found its pool empty has a Sandbox of the claim's own name.
Answer<std::optional<SandboxFacts>> KubeBackend::look(const BoxName& name) const {
  AB_TRY(live, client_->find(kSandboxes, name.text()));
  if (live && !is_owned(*live, kClaims.kind, "")) {
    AB_TRY(facts, read_sandbox(*live, name, client_->ns()));
    AB_CHECK(look_at_pipe(name, facts));
    return std::optional<SandboxFacts>(std::move(facts));
  }
  AB_TRY(claim, find_claim(name));
  if (!claim) {
    return std::optional<SandboxFacts>();
  }
  AB_TRY(facts, look_at_claim(name, *claim));
  return std::optional<SandboxFacts>(std::move(facts));
}

Answer<SandboxFacts> KubeBackend::look_existing(const BoxName& name) const {
  AB_TRY(facts, look(name));
  if (!facts) {
    return no_such_box(name);
  }
  return std::move(*facts);
}

Answer<std::string> KubeBackend::settle_host_key(const BoxName& name,
                                                 const std::string& known) const {
  if (!known.empty()) {
    return known;  // the Sandbox has it: clients may have it pinned
  }
  AB_TRY(pair, generate_ed25519());
  const std::string public_key = pair.public_key.text();
  AB_TRY(made,
         client_->create(
             kSecrets, host_key_secret(name, client_->ns(), public_key, pair.private_key.reveal()),
             kBaseManager));
  if (made) {
    return public_key;
  }
  // One that a run before this one made. It is never replaced; its public half is all we ask for.
  OrderedJson nothing;
  nothing["metadata"]["labels"][kBoxLabel] = name.text();
  AB_TRY(there, client_->patch_metadata(kSecrets, host_key_name(name), nothing, kBaseManager));
  const Json* annotations = find_path(there, "metadata/annotations");
  const std::string* text =
      annotations == nullptr ? nullptr : find_string(*annotations, kHostKeyAnnotation);
  const auto key = PublicKey::parse(text == nullptr ? "" : *text);
  const Json* owners = find_path(there, "metadata/ownerReferences");
  if (owners != nullptr && owners->is_array() && !owners->empty()) {
    return Failure{Exit::kUnreachable, "an earlier box " + name.text() + " is still being removed",
                   "run the command again in a moment"};
  }
  if (!key.ok() || key->type() != "ssh-ed25519" || key->text() != *text) {
    return Failure{Exit::kRefused,
                   "there is a Secret " + host_key_name(name) + " that has no host key of ours",
                   "choose another name, or remove that Secret"};
  }
  return *text;
}

Answer<std::vector<NamedKey>> KubeBackend::settle_keys(const BoxName& name, const WantedBox& wanted,
                                                       BoxRecord& record) const {
  const BoxPaths paths = store_.paths(name);
  if (!wanted.keys.empty()) {
    record.identity_file = wanted.spec.identity;
    return wanted.keys;
  }
  const bool made_elsewhere = !record.keys.empty() && ::access(paths.identity.c_str(), F_OK) != 0;
  if (made_elsewhere) {
    return record.keys;
  }
  AB_TRY(key,
         ensure_private_key(paths.identity, {::geteuid(), ::getegid()}, host_alias(name.text())));
  record.identity_file = paths.identity;
  return std::vector<NamedKey>{std::move(key)};
}

// The cluster's own checks and policies on the objects, before any of them exists.
Done KubeBackend::try_out(const BoxName& name, const KubeSpec& spec) const {
  if (spec.retain_data) {
    AB_TRY(claim, client_->apply(kVolumeClaims, retained_claim(name, client_->ns(), spec),
                                 kBaseManager, true));
    static_cast<void>(claim);
  }
  AB_TRY(policy, client_->apply(kNetworkPolicies, network_policy(name, client_->ns(), spec),
                                kBaseManager, true));
  AB_TRY(box, client_->apply(kSandboxes, sandbox(name, client_->ns(), spec, "dry-run"),
                             kBaseManager, true));
  static_cast<void>(policy);
  static_cast<void>(box);
  return {};
}

// Every step may have been done by a run that was cut short; each finds that out by itself.
Done KubeBackend::make(const BoxName& name, const KubeSpec& spec, const WantedBox& wanted,
                       const std::optional<SandboxFacts>& existing) const {
  const std::string& ns = client_->ns();
  BoxRecord record = record_of(name, existing.value_or(SandboxFacts{}));
  record.phase = Phase::kCreating;
  record.spec = wanted.spec;
  record.generation = std::max<std::uint64_t>(record.generation, 1);
  AB_TRY(keys, settle_keys(name, wanted, record));
  record.keys = keys;
  const std::vector<std::string> revoked =
      existing ? existing->revoked : std::vector<std::string>();
  const bool piped = spec.gateway.kind == GatewayKind::kSshpiper;
  std::vector<NamedKey> door_keys = record.keys;
  if (piped) {
    AB_TRY(upstream, settle_upstream(name, spec.gateway));
    door_keys = {std::move(upstream)};
  }
  AB_TRY(keys_part,
         sandbox_keys(name, ns, {door_keys, revoked, record.generation, record.spec.authorities}));
  log::info("network policy",
            {{"name", policy_name(name)}, {"egress", std::string(text_of(spec.egress))}});
  AB_TRY(policy, client_->apply(kNetworkPolicies, network_policy(name, ns, spec), kBaseManager));
  AB_TRY(host_key, settle_host_key(name, existing ? existing->host_key : ""));
  record.host_key = host_key;
  AB_CHECK(store_.save(record));
  AB_CHECK(
      replace_file(store_.paths(name).known_hosts, known_hosts_text(name.text(), host_key), 0600));
  AB_CHECK(pin_gateway(name, spec.gateway));
  if (spec.retain_data) {
    log::info("volume that outlives the box", {{"name", data_name(name)}});
    AB_TRY(claim, client_->apply(kVolumeClaims, retained_claim(name, ns, spec), kBaseManager));
    static_cast<void>(claim);
  }
  log::info("sandbox", {{"name", name.text()}, {"namespace", ns}});
  AB_TRY(box, client_->apply(kSandboxes, sandbox(name, ns, spec, host_key), kBaseManager));
  OrderedJson owner;
  owner["metadata"]["ownerReferences"][0] = {{"apiVersion", kSandboxes.group_version},
                                             {"kind", kSandboxes.kind},
                                             {"name", name.text()},
                                             {"uid", metadata_text(box, "uid")}};
  AB_TRY(owned, client_->patch_metadata(kSecrets, host_key_name(name), owner, kBaseManager));
  if (piped) {
    AB_CHECK(own_upstream(name, spec.gateway, owner));
  }
  log::info("keys", {{"generation", std::to_string(record.generation)}});
  AB_TRY(with_keys, client_->apply(kSandboxes, keys_part, kKeysManager));
  AB_TRY(facts, read_sandbox(with_keys, name, ns));
  AB_CHECK(wait_running(name, facts.sandbox, steady_clock::now() + kReadyTime));
  const OrderedJson rendered = sandbox(name, ns, spec, host_key);
  AB_CHECK(wait_pod(name, facts, &rendered));
  if (piped) {
    AB_TRY(running, look_existing(name));  // now it has a Service, and so a name
    AB_CHECK(put_pipe(name, running, record.keys, door_keys.front().key.text()));
  }
  record.phase = Phase::kRunning;
  return store_.save(record);
}

Done KubeBackend::wait_running(const BoxName& name, const std::string& sandbox,
                               Deadline deadline) const {
  log::info("waiting for the box to be ready", {{"name", name.text()}, {"sandbox", sandbox}});
  std::string pod = sandbox;
  std::optional<Client::Deadline> ended;  // since when its pod has ended
  const auto judge = [&](const Json* object) -> Answer<Client::Verdict> {
    if (object == nullptr) {
      return Failure{Exit::kFailed, "Sandbox " + sandbox + " was deleted while it was waited for",
                     "run the command again"};
    }
    const RunFacts facts = run_facts(*object);
    // A pod that is being removed ends too; another follows it. One that only ended stays.
    const bool by_pod = facts.hopeless && facts.reason.starts_with("Pod");
    ended = by_pod ? ended.value_or(steady_clock::now()) : std::optional<Client::Deadline>();
    if (facts.hopeless && (!ended || steady_clock::now() - *ended >= kRecoveryTime)) {
      return Failure{Exit::kFailed, "box " + name.text() + " does not start: " + facts.reason,
                     "kubectl describe pod " + sandbox + " says more; then delete the box"};
    }
    pod = pod_of_sandbox(*object);
    Client::Verdict verdict{facts.state == State::kRunning, "readiness (" + facts.reason + ")", {}};
    if (facts.may_recover) {
      verdict.no_later_than = steady_clock::now() + kRecoveryTime;
    }
    return verdict;
  };
  return wait_minding_pod(
      *client_, kSandboxes, sandbox, [&] { return pod; }, judge, deadline);
}

Done KubeBackend::wait_suspended(const BoxName& name, const std::string& sandbox) const {
  const auto judge = [&](const Json* object) -> Answer<Client::Verdict> {
    if (object == nullptr) {
      return no_such_box(name);
    }
    return Client::Verdict{run_facts(*object).state == State::kSuspended, "end of its pod", {}};
  };
  return client_->wait(kSandboxes, sandbox, judge, steady_clock::now() + kGoneTime);
}

// Until the pod has the keys' generation. WANTED: it must be what was rendered, and nothing
// besides.
Done KubeBackend::wait_pod(const BoxName& name, const SandboxFacts& facts,
                           const OrderedJson* wanted) const {
  std::vector<std::string> additions;
  const auto judge = [&](const Json* object) -> Answer<Client::Verdict> {
    if (object != nullptr && wanted != nullptr) {
      additions = additions_of(*object, *wanted);
    }
    const bool done = object != nullptr && pod_generation(*object) == facts.generation;
    return Client::Verdict{done || !additions.empty(),
                           "generation " + std::to_string(facts.generation) + " of its keys",
                           {}};
  };
  AB_CHECK(client_->wait(kPods, facts.pod, judge, steady_clock::now() + kKeysTime));
  if (additions.empty() || !defended("pod-readback")) {
    return {};
  }
  const bool stopped = set_mode(facts, "Suspended").ok();
  return Failure{Exit::kRefused,
                 "the pod of box " + name.text() +
                     " is not what was asked for, somebody changed it: " + joined(additions),
                 std::string(stopped ? "the box is suspended; " : "") +
                     "find out which admission webhook does that, then delete the box"};
}

Done KubeBackend::set_mode(const SandboxFacts& facts, const char* mode) const {
  const OrderedJson part = sandbox_mode(facts.sandbox, client_->ns(), mode);
  // A Sandbox of a pool was made by the controller, which therefore owns each of its fields: an
  // apply would be a conflict.
  AB_TRY(done, facts.pool.empty()
                   ? client_->apply(kSandboxes, part, kModeManager)
                   : client_->patch_metadata(kSandboxes, facts.sandbox, part, kModeManager));
  static_cast<void>(done);
  return {};
}

Answer<BoxView> KubeBackend::show(const BoxName& name, const SandboxFacts& facts,
                                  bool probe) const {
  AB_TRY(stored, store_.load(name));
  BoxRecord record = record_of(name, facts);
  record.identity_file = stored ? stored->identity_file : "";
  record.port = facts.host.empty() || facts.host_key.empty() ? std::uint16_t{0} : kDoorPort;
  BoxView view{record, {}, facts.state, facts.reason, "/workspace"};
  view.no_audit_head = "the newest 'audit head' in the log of the pod's container door has it";
  view.backend = "kubernetes";
  view.ns = client_->ns();
  view.egress = facts.egress;
  view.pool = facts.pool;
  view.sandbox = facts.sandbox;
  view.ssh = SshFacts{name.text(),
                      facts.host,
                      kDoorPort,
                      record.identity_file,
                      store_.paths(name).known_hosts,
                      facts.gateway,
                      store_.paths(name).gateway_known_hosts};
  const bool other_key = stored && !facts.host_key.empty() && stored->host_key != facts.host_key;
  const bool other_gateway = stored && !gateway_is_pinned(name, facts.gateway);
  if (other_key || other_gateway) {
    view.state = State::kFailed;
    view.reason = other_pin(name, store_, other_key ? "its host key" : "its gateway");
    view.record.port = 0;  // nothing to connect with is printed
    return view;
  }
  if (!facts.pipe_problems.empty()) {
    view.state = State::kFailed;
    view.reason = "hop 1: its Pipe: " + joined(facts.pipe_problems);
  } else if (is_piped(facts) && !facts.has_pipe) {
    view.reason = "it has no Pipe: nobody can enter through the gateway";
  }
  if (probe && view.state == State::kRunning) {
    probe_gateway(name, facts, view);
    probe_box(name, facts, view);
  }
  return view;
}

void KubeBackend::probe_box(const BoxName& name, const SandboxFacts& facts, BoxView& view) const {
  const std::string hop = facts.gateway.kind == GatewayKind::kNone ? "" : "hop 2: ";
  const Status offered = prove_keys(name, facts, {});
  if (offered.ok()) {
    view.checked.push_back(hop + std::to_string(facts.door_keys.size()) +
                           (is_piped(facts) ? " key(s) of the gateway" : " key(s)") +
                           " accepted on the pinned host key");
  } else if (offered.error().code == Code::kDenied) {
    view.state = State::kFailed;
    view.reason = hop + offered.error().what;
  } else {
    view.not_checked.push_back(
        hop + "the box over SSH, which cannot be reached from here: " + offered.error().what);
  }
}

Result<DoorLine> KubeBackend::dial_box(const BoxName& name, const SandboxFacts& facts,
                                       Deadline deadline) const {
  AB_TRY(host_key, PublicKey::parse(facts.host_key));
  const auto stored = store_.load(name);
  const bool jump = facts.gateway.kind == GatewayKind::kJump && way_ == Way::kService;
  if (jump && stored.ok() && *stored && !(*stored)->identity_file.empty()) {
    const BoxPaths paths = store_.paths(name);
    auto through = dial_through_jump({name.text(), facts.host, kDoorPort, (*stored)->identity_file,
                                      paths.known_hosts, facts.gateway, paths.gateway_known_hosts},
                                     host_key, deadline);
    if (through.ok() || through.error().code == Code::kDenied) {
      return through;
    }
    auto direct = dial_door(*client_, way_, facts, host_key, deadline);
    return direct.ok() ? std::move(direct) : std::move(through);
  }
  return dial_door(*client_, way_, facts, host_key, deadline);
}

Done KubeBackend::pin_gateway(const BoxName& name, const Gateway& gateway) const {
  if (gateway.kind == GatewayKind::kNone) {
    return {};
  }
  return advise(replace_file(store_.paths(name).gateway_known_hosts,
                             gateway_known_hosts(name.text(), gateway), 0600),
                "see whether the disk is full");
}

bool KubeBackend::gateway_is_pinned(const BoxName& name, const Gateway& gateway) const {
  const std::string& path = store_.paths(name).gateway_known_hosts;
  if (gateway.kind == GatewayKind::kNone) {
    return ::access(path.c_str(), F_OK) != 0;
  }
  const auto text = read_file_capped(path, kMaxPinBytes);
  return text.ok() && *text == gateway_known_hosts(name.text(), gateway);
}

// A box seen for the first time from here is pinned from now on. Its lock is held.
Done KubeBackend::pin(const BoxName& name, const SandboxFacts& facts,
                      const std::optional<BoxRecord>& stored) const {
  if (stored || facts.host_key.empty()) {
    return {};
  }
  AB_CHECK(store_.save(record_of(name, facts)));
  AB_CHECK(replace_file(store_.paths(name).known_hosts,
                        known_hosts_text(name.text(), facts.host_key), 0600));
  return pin_gateway(name, facts.gateway);
}

Answer<BoxView> KubeBackend::view(const BoxName& name, bool probe) const {
  AB_TRY(facts, look_existing(name));
  AB_TRY(stored, store_.load(name));
  if (!stored) {
    AB_TRY(lock, store_.lock_new(name));
    AB_CHECK(pin(name, facts, stored));
  }
  return show(name, facts, probe);
}

Contact KubeBackend::contact_with(BoxRecord record, const SandboxFacts& facts) const {
  // Behind sshpiper the door lets in nobody but the gateway: a session of ours goes through it.
  const auto dial = [this, facts, name = record.name](Deadline deadline) -> Result<DoorLine> {
    return is_piped(facts) ? dial_gateway(name, facts.gateway, deadline)
                           : dial_box(name, facts, deadline);
  };
  return Contact{std::move(record), dial, kClusterStep, kNameTime, is_piped(facts)};
}

Answer<std::vector<Neighbour>> KubeBackend::neighbours(
    const BoxName& name, const std::vector<std::string>& nameservers) const {
  AB_TRY(facts, look_existing(name));
  AB_TRY(pods, client_->list(kPods, std::string(kManagedByLabel) + "=" + kManagedBy));
  const ServerUrl& api = client_->address();
  return neighbours_of(facts, pods, {api.host, api.port}, nameservers);
}

Answer<std::vector<LogTail>> KubeBackend::logs(const BoxName& name, std::uint64_t lines) const {
  AB_TRY(facts, look_existing(name));
  const auto read = [&](const std::string& container, std::uint64_t most) {
    LogQuery query;
    query.container = container;
    query.tail_lines = most;
    return client_->pod_log(facts.pod, query);
  };
  // Log and audit of the door share a stream, and what it says is mostly audit.
  auto door = read("door", std::max(lines * kLinesForOne, kLeastLines));
  if (!door.ok()) {
    return std::move(door).error();
  }
  auto box = read("box", lines);
  const auto place = [&](const std::string& container) {
    return "container " + container + " of pod " + facts.pod;
  };
  const DoorLog split = split_door_log(*door);
  return std::vector<LogTail>{
      {"door", place("door"), split.log, {}},
      {"box", place("box"), box.ok() ? *box : "", box.ok() ? "" : box.error().message},
      {"audit", place("door"), split.audit, {}}};
}

Answer<Contact> KubeBackend::contact(const BoxName& name) const {
  AB_TRY(facts, look_existing(name));
  AB_TRY(stored, store_.load(name));
  if (!stored) {
    AB_TRY(lock, store_.lock_new(name));
    AB_CHECK(pin(name, facts, stored));
  } else if (stored->host_key != facts.host_key || !gateway_is_pinned(name, facts.gateway)) {
    const bool other_key = stored->host_key != facts.host_key;
    return Failure{Exit::kRefused,
                   "box " + name.text() + ": " +
                       other_pin(name, store_, other_key ? "its host key" : "its gateway"),
                   "nothing was sent to it"};
  }
  BoxRecord record = record_of(name, facts, stored);
  if (facts.state == State::kSuspended) {
    record.phase = Phase::kSuspended;
  } else if (facts.state != State::kRunning) {
    return Failure{Exit::kUnreachable,
                   "box " + name.text() + " is " + std::string(text_of(facts.state)) +
                       (facts.reason.empty() ? "" : ": " + facts.reason),
                   "`agentbox-provision doctor " + name.text() + "` says more"};
  }
  return contact_with(std::move(record), facts);
}

Done KubeBackend::prove_start(const SandboxFacts& facts, BoxView& view) const {
  if (view.state != State::kRunning) {
    return {};
  }
  if (facts.gateway.kind != GatewayKind::kNone) {
    return prove_start_behind_gateway(facts, view);
  }
  const Contact box = contact_with(view.record, facts);
  const auto line = box.dial(steady_clock::now() + kProbeTime);
  if (!line.ok() && line.error().code != Code::kDenied) {
    view.not_checked.push_back("the box over SSH, which cannot be reached from here: " +
                               line.error().what);
    return {};
  }
  const auto deadline = steady_clock::now() + kStartTime;
  for (;;) {
    auto proof = prove_once(box);
    if (proof.ok()) {
      view.checked.push_back(std::move(proof->words));
      return {};
    }
    if (steady_clock::now() >= deadline) {
      return Failure{
          Exit::kCheckFailed,
          "box " + view.record.name.text() + " runs, but: " + proof.error().what,
          "`agentbox-provision doctor " + view.record.name.text() + "` finds out which part of it"};
    }
    ::poll(nullptr, 0, kProofPauseMs);  // nobody tells when the box's side has dialled its door
  }
}

Answer<std::vector<BoxView>> KubeBackend::views() const {
  AB_TRY(items, client_->list(kSandboxes, std::string(kManagedByLabel) + "=" + kManagedBy));
  std::vector<BoxView> views;
  for (const Json& item : items) {
    auto name = BoxName::parse(metadata_text(item, "name"));
    if (!name.ok()) {
      continue;
    }
    auto facts = read_sandbox(item, *name, client_->ns());
    if (facts.ok()) {
      if (auto pipe = look_at_pipe(*name, *facts); !pipe.ok()) {
        facts = std::move(pipe).error();
      }
    }
    if (!facts.ok()) {
      log::warning("a Sandbox is left out", {{"why", facts.error().message}});
      continue;
    }
    AB_TRY(seen, show(*name, *facts, false));
    views.push_back(std::move(seen));
  }
  AB_TRY(claimed, claimed_views());
  views.insert(views.end(), std::make_move_iterator(claimed.begin()),
               std::make_move_iterator(claimed.end()));
  std::sort(views.begin(), views.end(), [](const BoxView& one, const BoxView& other) {
    return one.record.name.text() < other.record.name.text();
  });
  return views;
}

// The box of that name where there is one already. It must be the one that is asked for.
Answer<std::optional<SandboxFacts>> KubeBackend::find_same(const BoxName& name,
                                                           const KubeSpec& spec,
                                                           const WantedBox& wanted) const {
  AB_TRY(live, client_->find(kSandboxes, name.text()));
  AB_TRY(claim, find_claim(name));
  if (claim) {
    return another_box(name, {"it is a claim on the pool " + pool_of_claim(*claim)});
  }
  if (!live) {
    return std::optional<SandboxFacts>();
  }
  AB_TRY(facts, read_sandbox(*live, name, client_->ns()));
  AB_CHECK(look_at_pipe(name, facts));
  const auto found = differences_of(name, client_->ns(), spec, wanted, facts, *live);
  if (!found.empty()) {
    return another_box(name, found);
  }
  if (facts.being_deleted) {
    return Failure{Exit::kUnreachable, "an earlier box " + name.text() + " is still being removed",
                   "run the command again in a moment"};
  }
  return std::optional<SandboxFacts>(std::move(facts));
}

Answer<Report> KubeBackend::try_create(const BoxName& name, const CreateOptions& options) const {
  if (!options.pool.empty()) {
    return Failure{Exit::kUsage, "--dry-run is not for boxes of pools: a claim is all that is made",
                   "render prints that claim; template apply tries what the pool's pods are"};
  }
  AB_TRY(wanted, read_wanted_box(options));
  AB_TRY(spec, kube_spec_of(options, wanted));
  AB_CHECK(check_served(kSandboxes));
  AB_TRY(existing, find_same(name, spec, wanted));
  if (!existing) {
    AB_CHECK(check_gateway(name, spec));
    AB_CHECK(try_out(name, spec));
    AB_TRY(secret,
           client_->create(kSecrets, host_key_secret(name, client_->ns(), "dry-run", "dry-run"),
                           kBaseManager, true));
    static_cast<void>(secret);
  }
  Report report;
  report.json["name"] = name.text();
  report.json["backend"] = "kubernetes";
  report.json["namespace"] = client_->ns();
  report.json["dry_run"] = true;
  report.json["exists"] = existing.has_value();
  AB_TRY(objects, objects_of(name, client_->ns(), spec, wanted));
  report.json["objects"] = objects;
  for (const OrderedJson& object : objects) {
    report.text += "---\n" + yaml_text(object);
  }
  log::info(existing ? "the box exists already; nothing would be changed"
                     : "the cluster would take all of these; nothing was changed",
            {{"name", name.text()}});
  return report;
}

Answer<Backend::Changed> KubeBackend::create(const BoxName& name,
                                             const CreateOptions& options) const {
  if (!options.pool.empty()) {
    return create_from_pool(name, options);
  }
  AB_TRY(wanted, read_wanted_box(options));
  AB_TRY(spec, kube_spec_of(options, wanted));
  AB_CHECK(check_served(kSandboxes));
  AB_TRY(existing, find_same(name, spec, wanted));
  if (!existing) {
    AB_CHECK(check_gateway(name, spec));
    AB_CHECK(try_out(name, spec));
  }
  for (const std::string& image : {spec.door_image, spec.image}) {
    if (!image.empty() && !is_pinned_image(image)) {
      log::warning("an image without a digest can become another one at the next start",
                   {{"image", image}});
    }
  }
  AB_TRY(lock, store_.lock_new(name));
  AB_TRY(stored, store_.load(name));
  if (is_finished(existing, stored)) {
    AB_CHECK(pin(name, *existing, stored));
    AB_TRY(seen, show(name, *existing, true));
    return Changed{std::move(seen), false};
  }
  AB_CHECK(make(name, spec, wanted, existing));
  AB_TRY(facts, look_existing(name));
  AB_TRY(seen, show(name, facts, false));
  AB_CHECK(prove_start(facts, seen));
  return Changed{std::move(seen), true};
}

Answer<Backend::Changed> KubeBackend::suspend(const BoxName& name) const {
  AB_TRY(before, look_existing(name));
  const bool changed = before.state != State::kSuspended;
  if (changed) {
    AB_CHECK(set_mode(before, "Suspended"));
    AB_CHECK(wait_suspended(name, before.sandbox));
  }
  AB_TRY(facts, look_existing(name));
  AB_TRY(seen, show(name, facts, false));
  return Changed{std::move(seen), changed};
}

Answer<Backend::Changed> KubeBackend::resume(const BoxName& name) const {
  AB_TRY(before, look_existing(name));
  const bool changed = before.state != State::kRunning;
  if (!before.wants_to_run) {
    AB_CHECK(set_mode(before, "Running"));
  }
  AB_CHECK(wait_running(name, before.sandbox, steady_clock::now() + kReadyTime));
  AB_TRY(facts, look_existing(name));
  AB_CHECK(wait_pod(name, facts, nullptr));
  AB_TRY(seen, show(name, facts, false));
  AB_CHECK(prove_start(facts, seen));
  return Changed{std::move(seen), changed};
}

// Removes an object that has a box's name in its own, where its labels say that it is that box's.
Answer<bool> KubeBackend::remove_ours(const Resource& resource, const std::string& object,
                                      const BoxName& name) const {
  AB_TRY(found, client_->metadata_of(resource, object));
  if (!found || !is_labelled(*found, name)) {
    return false;
  }
  return client_->remove(resource, object, metadata_text(*found, "uid"));
}

Done KubeBackend::wait_gone(const Resource& resource, const std::string& object,
                            Deadline deadline) const {
  const auto judge = [](const Json* live) -> Answer<Client::Verdict> {
    return Client::Verdict{live == nullptr, "end of it", {}};
  };
  return client_->wait(resource, object, judge, deadline);
}

// The policy goes last: until the pod is gone it must not be without one.
Answer<Backend::Removed> KubeBackend::remove(const BoxName& name, bool keep_workspace) const {
  AB_TRY(existing, look(name));
  if (keep_workspace && existing && existing->retained.empty()) {
    return Failure{Exit::kUsage,
                   "the volume of box " + name.text() +
                       " goes with its Sandbox: it was not made with --retain-data",
                   "pull what is worth keeping first; nothing was changed"};
  }
  bool changed = false;
  if (existing && is_piped(*existing)) {
    // First of all: nobody new comes in, and no name is left behind that another box could take.
    AB_TRY(unpiped, remove_piping(name, existing->gateway));
    changed = unpiped;
  }
  if (existing) {
    const Resource& kind = existing->pool.empty() ? kSandboxes : kClaims;
    AB_TRY(gone, client_->remove(kind, name.text(), existing->uid));
    changed = changed || gone;
    const auto deadline = steady_clock::now() + kGoneTime;
    AB_CHECK(wait_gone(kind, name.text(), deadline));
    if (!existing->sandbox.empty()) {
      AB_CHECK(wait_gone(kSandboxes, existing->sandbox, deadline));
      AB_CHECK(wait_gone(kPods, existing->pod, deadline));
    }
  }
  if (!existing || existing->pool.empty()) {  // one of a pool has the policy of its template
    AB_TRY(secret, remove_ours(kSecrets, host_key_name(name), name));
    AB_TRY(policy, remove_ours(kNetworkPolicies, policy_name(name), name));
    changed = changed || secret || policy;
  }
  AB_TRY(lock, store_.lock(name));
  if (lock) {
    AB_CHECK(store_.remove(name, *lock));
    changed = true;
  }
  if (!existing || existing->retained.empty()) {
    return Removed{changed, {}};
  }
  return Removed{changed,
                 "PersistentVolumeClaim " + existing->retained + " of namespace " + client_->ns(),
                 "kubectl --namespace " + client_->ns() + " delete pvc " + existing->retained};
}

}  // namespace agentbox::provision::kube
