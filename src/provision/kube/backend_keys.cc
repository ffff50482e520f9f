// edge: see backend.h: the keys of a box in a cluster: changed, proven, and proven gone.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/log.h"
#include "base/ssh_client.h"
#include "provision/key_choice.h"
#include "provision/keys.h"
#include "provision/kube/backend.h"
#include "provision/kube/manifests.h"
#include "provision/mcp_client.h"

namespace agentbox::provision::kube {
namespace {

using std::chrono::steady_clock;

/// From the pod's annotation to the door's file takes the kubelet a second, at worst a minute.
constexpr int kPauseMs = 200;

Status offer_keys(SshClient& connected, const std::vector<NamedKey>& keys,
                  const std::vector<NamedKey>& refused, Deadline deadline) {
  for (const NamedKey& entry : keys) {
    AB_TRY(taken, connected.offer(kLoginUser, entry.key, deadline));
    if (!taken) {
      return Error{Code::kDenied, "it refuses its key " + entry.key.fingerprint()};
    }
  }
  for (const NamedKey& entry : refused) {
    AB_TRY(taken, connected.offer(kLoginUser, entry.key, deadline));
    if (taken) {
      return Error{Code::kDenied, "it still takes the key " + entry.key.fingerprint()};
    }
  }
  return {};
}

Failure no_eviction() {
  return Failure{Exit::kUsage, "--evict does not know clusters yet",
                 "revoke without it; after a leak delete the box and make a new one"};
}

bool is_listed(const std::vector<std::string>& fingerprints, const std::string& fingerprint) {
  return std::find(fingerprints.begin(), fingerprints.end(), fingerprint) != fingerprints.end();
}

}  // namespace

Status KubeBackend::prove_keys(const SandboxFacts& facts,
                               const std::vector<NamedKey>& refused) const {
  AB_TRY(host_key, PublicKey::parse(facts.host_key));
  const auto deadline = steady_clock::now() + kProbeTime;
  AB_TRY(line, dial_door(*client_, way_, facts, host_key, deadline));
  return offer_keys(line.client, facts.keys, refused, deadline);
}

// What the cluster has is what counts; this machine adds what it alone knows.
Answer<KubeBackend::Held> KubeBackend::hold(const BoxName& name) const {
  AB_TRY(lock, store_.lock_new(name));
  AB_TRY(facts, look_existing(name));
  AB_TRY(stored, store_.load(name));
  AB_CHECK(pin(name, facts, stored));
  if (facts.generation == 0) {
    return Failure{Exit::kRefused, "box " + name.text() + " is not finished",
                   "run create again, or delete it"};
  }
  BoxRecord record = record_of(name, facts, stored);
  return Held{std::move(lock), std::move(facts), std::move(record)};
}

// First the cluster: what is cut short after it is made up for by the next look at it.
Done KubeBackend::put_keys(Held& held, const KeyChange& change) const {
  std::vector<std::string> revoked = held.facts.revoked;
  std::vector<std::string> lines;
  for (const NamedKey& entry : change.record.revoked) {
    lines.push_back(entry.key.fingerprint());
  }
  const std::vector<std::string>& prints = change.record.revoked_prints;
  lines.insert(lines.end(), prints.begin(), prints.end());
  for (const std::uint64_t serial : change.record.revoked_serials) {
    lines.push_back(revoked_line(serial));
  }
  for (std::string& line : lines) {
    if (!is_listed(revoked, line)) {
      revoked.push_back(std::move(line));
    }
  }
  const BoxName& name = change.record.name;
  AB_TRY(part, sandbox_keys(name, client_->ns(),
                            {change.record.keys, revoked, change.record.generation,
                             change.record.spec.authorities}));
  log::info("keys", {{"generation", std::to_string(change.record.generation)}});
  AB_TRY(object, client_->apply(kSandboxes, part, kKeysManager));
  const State state = held.facts.state;
  AB_TRY(facts, read_sandbox(object, name, client_->ns()));
  held.facts = std::move(facts);
  held.facts.state = state;  // a change of keys is no change of that, whatever is said right after
  held.record = change.record;
  AB_CHECK(store_.save(held.record));
  return state == State::kRunning ? wait_pod(name, held.facts, nullptr) : Done();
}

// Until it holds, or kKeysTime is over. A box that cannot be reached from here is said to be one.
Done KubeBackend::prove_change(const Held& held, const std::vector<NamedKey>& refused,
                               KeysDone& done) const {
  done.proven = false;
  done.proofs.clear();
  if (held.facts.state != State::kRunning) {
    return {};
  }
  const auto deadline = steady_clock::now() + kKeysTime;
  for (;;) {
    const Status outcome = prove_keys(held.facts, refused);
    if (outcome.ok()) {
      done.proofs.push_back(std::to_string(held.facts.keys.size()) +
                            " key(s) accepted on the pinned host key, " +
                            std::to_string(refused.size()) + " refused");
      done.proven = true;
      return {};
    }
    if (outcome.error().code != Code::kDenied) {
      done.proofs.push_back("the pod has generation " + std::to_string(held.facts.generation));
      return {};
    }
    if (steady_clock::now() >= deadline) {
      return Failure{Exit::kCheckFailed, outcome.error().what,
                     "run the command again; until it succeeds a key that is gone may enter"};
    }
    ::poll(nullptr, 0, kPauseMs);  // nobody tells when the kubelet has written the file
  }
}

Answer<KeysDone> KubeBackend::finish(Held held, KeysDone done) const {
  AB_TRY(facts, look_existing(held.record.name));
  AB_TRY(seen, show(held.record.name, facts, true));
  done.view = std::move(seen);
  return done;
}

Answer<KeysDone> KubeBackend::rotate(const BoxName& name,
                                     const std::vector<std::string>& key_files) const {
  AB_TRY(given, read_key_files(key_files));
  AB_TRY(held, hold(name));
  const BoxPaths paths = store_.paths(name);
  AB_TRY(next, decide_keys(held.record, paths, given));
  for (const NamedKey& entry : next.keys) {  // the cluster knows what another machine revoked
    if (is_listed(held.facts.revoked, entry.key.fingerprint())) {
      return Failure{Exit::kRefused, "the key " + entry.key.fingerprint() + " was revoked here",
                     "use a new key; nothing was changed"};
    }
  }
  AB_TRY(grown, add_keys(held.record, next.keys));
  AB_TRY(before, show(name, held.facts, false));
  KeysDone done{std::move(before), false, grown.added, {}, 0, false, false, {}};
  if (!grown.added.empty()) {
    AB_CHECK(put_keys(held, grown));
    AB_CHECK(prove_change(held, {}, done));
  }
  if (!next.made.empty() && std::rename(next.made.c_str(), paths.identity.c_str()) != 0) {
    return errno_error(paths.identity);
  }
  const KeyChange shrunk = keep_only(grown.record, next.keys, next.asked, next.identity_file);
  AB_CHECK(put_keys(held, shrunk));
  if (next.identity_file != paths.identity) {
    ::unlink(paths.identity.c_str());  // a private key that opens nothing is still a secret
  }
  AB_CHECK(prove_change(held, shrunk.gone, done));
  done.gone = shrunk.gone;
  done.changed = !grown.added.empty() || !shrunk.gone.empty();
  return finish(std::move(held), std::move(done));
}

Answer<KeysDone> KubeBackend::revoke(const BoxName& name, const std::string& key,
                                     bool evict) const {
  if (evict) {
    return no_eviction();
  }
  AB_TRY(asked, key_asked_for(key));
  AB_TRY(held, hold(name));
  const bool is_identity = fingerprint_at(held.record.identity_file) == asked.fingerprint;
  AB_TRY(change, revoke_key(held.record, asked.fingerprint, is_identity, asked.key));
  AB_TRY(before, show(name, held.facts, false));
  const bool changed = change.record.generation != held.record.generation;
  KeysDone done{std::move(before), changed, {}, change.gone, {}, false, false, {}};
  done.gone_prints = change.gone_prints;
  // Also where nothing changed: an earlier try may have been cut short.
  AB_CHECK(put_keys(held, change));
  AB_CHECK(prove_change(held, change.gone, done));
  return finish(std::move(held), std::move(done));
}

Answer<KeysDone> KubeBackend::change(const BoxName& name, const Change& change, bool evict) const {
  if (evict) {
    return no_eviction();
  }
  AB_TRY(held, hold(name));
  AB_TRY(made, change(held.record));
  AB_TRY(before, show(name, held.facts, false));
  const bool changed = made.record.generation != held.record.generation;
  KeysDone done{std::move(before), changed, made.added, made.gone, 0, false, false, {}};
  AB_CHECK(put_keys(held, made));
  AB_CHECK(prove_change(held, made.gone, done));
  return finish(std::move(held), std::move(done));
}

}  // namespace agentbox::provision::kube
