// edge: see backend.h: a box behind a gateway: its Pipe, the gateway's key for it, and the first
// hop.
#include <poll.h>

#include <algorithm>

#include "base/log.h"
#include "base/ssh_key.h"
#include "provision/kube/backend.h"
#include "provision/kube/manifests.h"
#include "provision/kube/pipe.h"
#include "provision/proof.h"

namespace agentbox::provision::kube {
namespace {

using std::chrono::steady_clock;

/// Between two looks at a gateway that has not seen a change yet: it watches, nobody tells us.
constexpr int kPauseMs = 200;
/// The label of the gateway's key at the box.
constexpr const char* kGatewayLabel = "gateway";
/// In a dry run the box has no name yet.
constexpr const char* kNoHost = "dry-run.invalid";

NamedKey gateway_key(const PublicKey& key) { return NamedKey{key, kGatewayLabel}; }

Failure another_schema(const std::string& problems) {
  return Failure{
      Exit::kRefused, "the cluster does not keep a Pipe as it was sent: " + problems,
      "its definition of Pipes is older than v1beta1 of sshpiper v1.5: renew it; without "
      "these fields the gateway would not check the box"};
}

// The public half that a Secret's metadata tell of; a Failure where it is not the box's.
Answer<PublicKey> upstream_of(const Json& secret, const BoxName& name, const std::string& box_ns) {
  const Json* annotations = find_path(secret, "metadata/annotations");
  const std::string* text =
      annotations == nullptr ? nullptr : find_string(*annotations, kUpstreamAnnotation);
  auto key = PublicKey::parse(text == nullptr ? "" : *text);
  if (!is_of_box(secret, name, box_ns) || !key.ok() || key->type() != "ssh-ed25519") {
    return Failure{
        Exit::kRefused,
        "there is a Secret " + upstream_name(name) + " that has no key of ours for the gateway",
        "choose another name, or remove that Secret; nothing was changed"};
  }
  return std::move(key).value();
}

}  // namespace

Done KubeBackend::check_gateway(const BoxName& name, const KubeSpec& spec) const {
  if (spec.gateway.kind != GatewayKind::kSshpiper) {
    return {};
  }
  const auto group = client_->get("/apis/sshpiper.com");
  const std::string why = group.ok() ? pipes_unsupported(*group) : group.error().message;
  if (!why.empty()) {
    return Failure{Exit::kRefused, why,
                   "install sshpiper with its Kubernetes plugin (docs/gateway.md); nothing was "
                   "changed"};
  }
  const std::string box_ns = client_->ns();
  const Client::InNamespace there(*client_, spec.gateway.ns);
  AB_TRY(pipes, client_->list(kPipes, ""));
  const std::string clash = username_clash(pipes, name, box_ns);
  if (!clash.empty()) {
    return Failure{
        Exit::kRefused, clash,
        "the gateway goes by the user name alone: choose another name, or have that Pipe "
        "changed; nothing was changed"};
  }
  AB_TRY(secret, client_->metadata_of(kSecrets, upstream_name(name)));
  if (secret) {
    AB_TRY(ours, upstream_of(*secret, name, box_ns));
    static_cast<void>(ours);
  }
  const OrderedJson asked =
      pipe({name, box_ns, "", spec.gateway, kNoHost, "ssh-ed25519 AAAA", "ssh-ed25519 AAAA", {}});
  AB_TRY(kept, client_->apply(kPipes, asked, kBaseManager, true));
  const auto pruned = changes_between(asked, kept);
  return pruned.empty() ? Done() : Done(another_schema(joined(pruned)));
}

Answer<NamedKey> KubeBackend::settle_upstream(const BoxName& name, const Gateway& gateway) const {
  AB_TRY(pair, generate_ed25519());
  const std::string box_ns = client_->ns();
  const Client::InNamespace there(*client_, gateway.ns);
  AB_TRY(made, client_->create(kSecrets,
                               upstream_secret(name, box_ns, gateway.ns, pair.public_key.text(),
                                               pair.private_key.reveal()),
                               kBaseManager));
  if (made) {
    return gateway_key(pair.public_key);
  }
  // One that a run before this one made; its public half is all we ask for.
  AB_TRY(there_already, client_->metadata_of(kSecrets, upstream_name(name)));
  if (!there_already) {
    return Failure{Exit::kUnreachable, "an earlier box " + name.text() + " is still being removed",
                   "run the command again in a moment"};
  }
  AB_TRY(key, upstream_of(*there_already, name, box_ns));
  return gateway_key(key);
}

// Elsewhere than beside its Sandbox an owner would have it removed at once.
Done KubeBackend::own_upstream(const BoxName& name, const Gateway& gateway,
                               const OrderedJson& owner) const {
  if (gateway.ns != client_->ns()) {
    return {};
  }
  AB_TRY(owned, client_->patch_metadata(kSecrets, upstream_name(name), owner, kBaseManager));
  static_cast<void>(owned);
  return {};
}

Done KubeBackend::put_pipe(const BoxName& name, const SandboxFacts& facts,
                           const std::vector<NamedKey>& keys,
                           const std::string& upstream_key) const {
  const std::string box_ns = client_->ns();
  const Client::InNamespace there(*client_, facts.gateway.ns);
  if (keys.empty()) {
    // A Pipe without keys would pass on any password.
    AB_TRY(found, client_->find(kPipes, pipe_name(name)));
    if (found && is_of_box(*found, name, box_ns)) {
      AB_TRY(gone, client_->remove(kPipes, pipe_name(name), metadata_text(*found, "uid")));
      static_cast<void>(gone);
    }
    return {};
  }
  if (facts.host.empty()) {
    return Failure{Exit::kUnreachable,
                   "the cluster has not given box " + name.text() + " a name yet",
                   "run the command again in a moment"};
  }
  const PipePlan plan{name,       box_ns,         facts.uid,    facts.gateway,
                      facts.host, facts.host_key, upstream_key, keys};
  log::info("pipe", {{"name", pipe_name(name)}, {"namespace", facts.gateway.ns}});
  AB_TRY(applied, client_->apply(kPipes, pipe(plan), kBaseManager));
  static_cast<void>(applied);
  AB_TRY(live, client_->find(kPipes, pipe_name(name)));
  if (!live) {
    return Failure{Exit::kFailed, "Pipe " + pipe_name(name) + " is gone as soon as it was made",
                   "find out who removes it, and run the command again"};
  }
  AB_TRY(seen, read_pipe(*live, plan));
  if (!seen.problems.empty()) {
    AB_TRY(gone, client_->remove(kPipes, pipe_name(name), metadata_text(*live, "uid")));
    static_cast<void>(gone);
    return another_schema(joined(seen.problems));
  }
  return {};
}

Done KubeBackend::look_at_pipe(const BoxName& name, SandboxFacts& facts) const {
  if (!is_piped(facts)) {
    return {};
  }
  const std::string box_ns = client_->ns();
  const Client::InNamespace there(*client_, facts.gateway.ns);
  AB_TRY(live, client_->find(kPipes, pipe_name(name)));
  return add_pipe(live ? &*live : nullptr, name, box_ns, facts);
}

Answer<bool> KubeBackend::remove_piping(const BoxName& name, const Gateway& gateway) const {
  const std::string box_ns = client_->ns();
  const Client::InNamespace there(*client_, gateway.ns);
  bool changed = false;
  AB_TRY(live, client_->find(kPipes, pipe_name(name)));
  if (live && is_of_box(*live, name, box_ns)) {
    AB_TRY(gone, client_->remove(kPipes, pipe_name(name), metadata_text(*live, "uid")));
    changed = gone;
  }
  AB_TRY(secret, client_->metadata_of(kSecrets, upstream_name(name)));
  if (secret && is_of_box(*secret, name, box_ns)) {
    AB_TRY(gone, client_->remove(kSecrets, upstream_name(name), metadata_text(*secret, "uid")));
    changed = changed || gone;
  }
  return changed;
}

// The door lets in two keys of the gateway while this is at work: who finds it so goes on with it.
Done KubeBackend::put_piped_keys(Held& held, const KeyChange& change,
                                 const std::vector<std::string>& revoked) const {
  if (!change.record.spec.authorities.empty()) {
    return Failure{Exit::kRefused, "sshpiper takes no certificates: a CA would let nobody in",
                   "list keys, or make the box anew with a jump host; nothing was changed"};
  }
  AB_CHECK(check_piped_keys(change.record.keys));
  const BoxName& name = held.record.name;
  const std::vector<NamedKey> before = held.facts.door_keys;
  const bool goes = !change.gone.empty() || !change.gone_prints.empty() || before.size() != 1;
  if (!goes) {
    AB_CHECK(put_pipe(name, held.facts, change.record.keys, before.front().key.text()));
    return put_door_keys(held, before, revoked, change.record.generation);
  }
  AB_TRY(pair, generate_ed25519());
  const NamedKey fresh = gateway_key(pair.public_key);
  std::vector<NamedKey> both = before;
  both.push_back(fresh);
  AB_CHECK(put_door_keys(held, both, revoked, change.record.generation));
  // Nobody enters with the key that goes, before the gateway has its new one.
  const std::string old_key = before.empty() ? fresh.key.text() : before.front().key.text();
  AB_CHECK(put_pipe(name, held.facts, change.record.keys, old_key));
  {
    const Client::InNamespace there(*client_, held.facts.gateway.ns);
    AB_TRY(patched,
           client_->patch_metadata(kSecrets, upstream_name(name),
                                   upstream_change(fresh.key.text(), pair.private_key.reveal()),
                                   kBaseManager));
    static_cast<void>(patched);
  }
  AB_CHECK(put_pipe(name, held.facts, change.record.keys, fresh.key.text()));
  held.door_gone = before;
  return put_door_keys(held, {fresh}, revoked, change.record.generation + 1);
}

Status KubeBackend::offer_at_gateway(const BoxName& name, const SandboxFacts& facts,
                                     const std::vector<NamedKey>& keys,
                                     const std::vector<NamedKey>& refused) const {
  const auto deadline = steady_clock::now() + kProbeTime;
  AB_TRY(line, dial_gateway(name, facts.gateway, deadline));
  return offer_keys(line.client, line.user, keys, refused, deadline);
}

void KubeBackend::probe_gateway(const BoxName& name, const SandboxFacts& facts,
                                BoxView& view) const {
  if (facts.gateway.kind == GatewayKind::kNone || (is_piped(facts) && !facts.has_pipe)) {
    return;
  }
  const Status offered = offer_at_gateway(name, facts, facts.keys, {});
  const std::string where = host_and_port(facts.gateway.host, facts.gateway.port);
  if (offered.ok()) {
    view.checked.push_back("hop 1: " + std::to_string(facts.keys.size()) +
                           " key(s) accepted by the gateway " + where + " on its pinned host key");
  } else if (offered.error().code != Code::kDenied) {
    view.not_checked.push_back("hop 1: the gateway " + where +
                               ", which cannot be reached from here: " + offered.error().what);
  } else if (is_piped(facts) || !is_refused_key(offered.error())) {
    view.state = State::kFailed;
    view.reason = "hop 1: the gateway " + where + ": " + offered.error().what;
  } else {
    // Its operator puts the line there; the box itself works.
    view.not_checked.push_back("hop 1: the jump host " + where + ": " + offered.error().what +
                               "; are the lines below in its authorized_keys?");
  }
}

Answer<std::string> KubeBackend::examine_gateway(const BoxName& name, SandboxFacts& facts) const {
  const auto wrong = [](const std::string& what) {
    return Failure{Exit::kCheckFailed, what, "docs/gateway.md has the set-up of both kinds"};
  };
  AB_CHECK(look_at_pipe(name, facts));
  if (is_piped(facts) && !facts.has_pipe) {
    return wrong("there is no Pipe " + pipe_name(name) + " in namespace " + facts.gateway.ns);
  }
  if (!facts.pipe_problems.empty()) {
    return wrong("Pipe " + pipe_name(name) + ": " + joined(facts.pipe_problems));
  }
  const std::string where = host_and_port(facts.gateway.host, facts.gateway.port);
  const Status offered = offer_at_gateway(name, facts, facts.keys, {});
  if (!offered.ok()) {
    const bool lacks = !is_piped(facts) && is_refused_key(offered.error());
    return wrong("the gateway " + where + ": " + offered.error().what +
                 (lacks ? "; are the lines that status prints in its authorized_keys?" : ""));
  }
  return where + " takes " + std::to_string(facts.keys.size()) + " key(s) on its pinned host key";
}

Done KubeBackend::prove_start_behind_gateway(const SandboxFacts& facts, BoxView& view) const {
  const BoxName name = view.record.name;
  const auto deadline = steady_clock::now() + kStartTime;
  const auto fails = [&](const std::string& what) {
    return Failure{
        Exit::kCheckFailed, "box " + name.text() + " runs, but " + what,
        "each hop is named; `agentbox-provision status " + name.text() + "` looks at both again"};
  };
  for (;;) {
    BoxView seen = view;
    probe_gateway(name, facts, seen);
    if (seen.state == State::kRunning) {
      probe_box(name, facts, seen);
    }
    if (seen.state == State::kRunning) {
      view = std::move(seen);
      break;
    }
    if (steady_clock::now() >= deadline) {
      return fails(seen.reason);
    }
    ::poll(nullptr, 0, kPauseMs);  // the gateway watches its Pipes, the door its keys
  }
  const bool reached = !view.checked.empty() && view.checked.front().starts_with("hop 1");
  if (!reached || view.record.identity_file.empty()) {
    return {};
  }
  const Contact box = contact_with(view.record, facts);
  for (;;) {
    auto proof = prove_once(box);
    if (proof.ok()) {
      view.checked.push_back("both hops: " + proof->words);
      return {};
    }
    if (steady_clock::now() >= deadline) {
      return fails("over both hops: " + proof.error().what);
    }
    ::poll(nullptr, 0, kPauseMs);
  }
}

Answer<bool> KubeBackend::prove_first_hop(const Held& held, const std::vector<NamedKey>& refused,
                                          steady_clock::time_point deadline, KeysDone& done) const {
  for (;;) {
    const Status outcome = offer_at_gateway(held.record.name, held.facts, held.facts.keys, refused);
    if (outcome.ok()) {
      done.proofs.push_back("hop 1: " + std::to_string(held.facts.keys.size()) +
                            " key(s) accepted by the gateway on its pinned host key, " +
                            std::to_string(refused.size()) + " refused");
      return true;
    }
    if (outcome.error().code != Code::kDenied) {
      done.proofs.push_back("the Pipe has " + std::to_string(held.facts.keys.size()) +
                            " key(s); the gateway cannot be reached from here");
      return false;
    }
    if (steady_clock::now() >= deadline) {
      return Failure{Exit::kCheckFailed, "hop 1: the gateway: " + outcome.error().what,
                     "run the command again; until it succeeds a key that is gone may enter"};
    }
    ::poll(nullptr, 0, kPauseMs);
  }
}

}  // namespace agentbox::provision::kube
