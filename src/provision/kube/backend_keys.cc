// edge: see backend.h: the keys of a box in a cluster: changed, proven, and proven gone.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/log.h"
#include "base/ssh_client.h"
#include "base/ssh_key.h"
#include "base/text.h"
#include "provision/handoff.h"
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
const std::string kRefusesKey = "it refuses its key ";

bool is_listed(const std::vector<std::string>& fingerprints, const std::string& fingerprint) {
  return std::find(fingerprints.begin(), fingerprints.end(), fingerprint) != fingerprints.end();
}

}  // namespace

bool is_refused_key(const Error& error) { return error.what.starts_with(kRefusesKey); }

Status offer_keys(SshClient& connected, const std::string& user, const std::vector<NamedKey>& keys,
                  const std::vector<NamedKey>& refused, Deadline deadline) {
  for (const NamedKey& entry : keys) {
    AB_TRY(taken, connected.offer(user, entry.key, deadline));
    if (!taken) {
      return Error{Code::kDenied, kRefusesKey + entry.key.fingerprint()};
    }
  }
  for (const NamedKey& entry : refused) {
    AB_TRY(taken, connected.offer(user, entry.key, deadline));
    if (taken) {
      return Error{Code::kDenied, "it still takes the key " + entry.key.fingerprint()};
    }
  }
  return {};
}

Status KubeBackend::prove_keys(const BoxName& name, const SandboxFacts& facts,
                               const std::vector<NamedKey>& refused) const {
  const auto deadline = steady_clock::now() + kProbeTime;
  AB_TRY(line, dial_box(name, facts, deadline));
  return offer_keys(line.client, kLoginUser, facts.door_keys, refused, deadline);
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
  held.record = change.record;
  if (is_piped(held.facts)) {
    return put_piped_keys(held, change, revoked);
  }
  return put_door_keys(held, change.record.keys, revoked, change.record.generation);
}

Done KubeBackend::put_door_keys(Held& held, const std::vector<NamedKey>& keys,
                                const std::vector<std::string>& revoked,
                                std::uint64_t generation) const {
  const BoxName& name = held.record.name;
  held.record.generation = generation;
  const bool claimed = !held.facts.pool.empty();
  const DoorKeys door{keys, revoked, generation, held.record.spec.authorities};
  const KeysPlace place = claimed ? in_claim(name.text()) : in_sandbox(name.text());
  AB_TRY(part, keys_part(place, client_->ns(), door));
  log::info("keys", {{"generation", std::to_string(generation)}});
  AB_TRY(object, client_->apply(place.kind, part, kKeysManager));
  const State state = held.facts.state;
  AB_TRY(facts, claimed ? look_at_claim(name, object) : read_sandbox(object, name, client_->ns()));
  AB_CHECK(look_at_pipe(name, facts));
  held.facts = std::move(facts);
  held.facts.state = state;  // a change of keys is no change of that, whatever is said right after
  AB_CHECK(store_.save(held.record));
  if (claimed) {
    AB_CHECK(pass_keys_on(held.facts, door, held.note));
  }
  return state == State::kRunning ? wait_pod(name, held.facts, nullptr) : Done();
}

// Until it holds, or kKeysTime is over. A box that cannot be reached from here is said to be one.
Done KubeBackend::prove_change(const Held& held, const std::vector<NamedKey>& refused,
                               KeysDone& done) const {
  done.proven = false;
  done.proofs.clear();
  if (!held.note.empty()) {
    done.proofs.push_back(held.note);
  }
  const auto deadline = steady_clock::now() + kKeysTime;
  bool first_hop = true;
  if (is_piped(held.facts)) {
    AB_TRY(proven, prove_first_hop(held, refused, deadline, done));
    first_hop = proven;
  }
  if (held.facts.state != State::kRunning) {
    return {};
  }
  for (;;) {
    const std::vector<NamedKey>& at_door = is_piped(held.facts) ? held.door_gone : refused;
    const Status outcome = prove_keys(held.record.name, held.facts, at_door);
    if (outcome.ok()) {
      done.proofs.push_back((is_piped(held.facts) ? "hop 2: " : "") +
                            std::to_string(held.facts.door_keys.size()) +
                            " key(s) accepted on the pinned host key, " +
                            std::to_string(at_door.size()) + " refused");
      done.proven = first_hop;
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

// The pod goes, with all that ran in it, and another one comes up with a host key that nobody has
// seen yet. Between the Secret and the Sandbox the two do not fit: cut short there, the box has no
// pod, and the next eviction makes both anew.
Done KubeBackend::replace_pod(Held& held) const {
  const BoxName& name = held.record.name;
  const bool ran = held.facts.wants_to_run;
  log::info("replacing the pod and the host key", {{"name", name.text()}});
  AB_CHECK(set_mode(held.facts, "Suspended"));
  AB_CHECK(wait_suspended(name, held.facts.sandbox));
  AB_TRY(pair, generate_ed25519());
  held.record.host_key = pair.public_key.text();
  OrderedJson annotation;
  annotation["metadata"]["annotations"][kHostKeyAnnotation] = held.record.host_key;
  OrderedJson secret = annotation;
  secret["data"][kHostKeyFile] = base64_encode(pair.private_key.reveal());
  AB_TRY(replaced, client_->patch_metadata(kSecrets, host_key_name(name), secret, kHostKeyManager));
  AB_TRY(told, client_->patch_metadata(kSandboxes, name.text(), annotation, kHostKeyManager));
  AB_CHECK(store_.save(held.record));
  AB_CHECK(replace_file(store_.paths(name).known_hosts,
                        known_hosts_text(name.text(), held.record.host_key), 0600));
  if (ran) {
    AB_CHECK(set_mode(held.facts, "Running"));
    AB_CHECK(wait_running(name, held.facts.sandbox, steady_clock::now() + kReadyTime));
  }
  AB_TRY(facts, look_existing(name));
  if (is_piped(facts) && facts.has_pipe) {
    // The gateway must know the new host key, or it lets nobody through.
    AB_CHECK(put_pipe(name, facts, facts.keys, facts.door_keys.front().key.text()));
    AB_CHECK(look_at_pipe(name, facts));
  }
  held.facts = std::move(facts);
  return ran ? wait_pod(name, held.facts, nullptr) : Done();
}

// Its door makes its host key itself, and keeps it: the pool has a fresh one for the asking.
Done KubeBackend::check_eviction(const Held& held, bool evict) const {
  if (!evict || held.facts.pool.empty()) {
    return {};
  }
  return Failure{Exit::kUsage,
                 "--evict would need a new host key, and a box of a pool keeps the one that its "
                 "pod has made",
                 "revoke without it, or delete the box and take another; nothing was changed"};
}

// What every change of keys ends with.
Answer<KeysDone> KubeBackend::finish_change(Held held, const std::vector<NamedKey>& gone,
                                            bool evict, KeysDone done) const {
  if (evict) {
    AB_CHECK(replace_pod(held));
    done.evicted = true;
    done.changed = true;
  }
  AB_CHECK(prove_change(held, gone, done));
  return finish(std::move(held), std::move(done));
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
  AB_TRY(asked, key_asked_for(key));
  AB_TRY(held, hold(name));
  AB_CHECK(check_eviction(held, evict));
  const bool is_identity = fingerprint_at(held.record.identity_file) == asked.fingerprint;
  AB_TRY(change, revoke_key(held.record, asked.fingerprint, is_identity, asked.key));
  AB_TRY(before, show(name, held.facts, false));
  const bool changed = change.record.generation != held.record.generation;
  KeysDone done{std::move(before), changed, {}, change.gone, {}, false, false, {}};
  done.gone_prints = change.gone_prints;
  // Also where nothing changed: an earlier try may have been cut short.
  AB_CHECK(put_keys(held, change));
  return finish_change(std::move(held), change.gone, evict, std::move(done));
}

Answer<KeysDone> KubeBackend::change(const BoxName& name, const Change& change, bool evict) const {
  AB_TRY(held, hold(name));
  AB_CHECK(check_eviction(held, evict));
  AB_TRY(made, change(held.record));
  AB_TRY(before, show(name, held.facts, false));
  const bool changed = made.record.generation != held.record.generation;
  KeysDone done{std::move(before), changed, made.added, made.gone, 0, false, false, {}};
  AB_CHECK(put_keys(held, made));
  return finish_change(std::move(held), made.gone, evict, std::move(done));
}

}  // namespace agentbox::provision::kube
