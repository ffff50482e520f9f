// edge: the keys of a box on this machine: changed, published, and proven to hold. See local.h.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <iterator>

#include "base/log.h"
#include "provision/audit_reader.h"
#include "provision/handoff.h"
#include "provision/key_change.h"
#include "provision/key_choice.h"
#include "provision/keys.h"
#include "provision/local.h"
#include "provision/local_files.h"
#include "provision/proof.h"
#include "provision/supervisor.h"

namespace agentbox::provision {
namespace {

/// The door reads its keys at each login and once a second, and gives a session two seconds to end.
constexpr std::chrono::seconds kKeysTime{15};
constexpr int kPauseMs = 50;

Deadline in(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }

// TRY until it succeeds or kKeysTime is over; the last Error then.
Status insist(const std::function<Status()>& attempt) {
  const Deadline deadline = in(kKeysTime);
  for (;;) {
    Status outcome = attempt();
    if (outcome.ok() || std::chrono::steady_clock::now() >= deadline) {
      return outcome;
    }
    ::poll(nullptr, 0, kPauseMs);  // the door tells nobody but its log
  }
}

Done proven(const Status& outcome, const std::string& next) {
  if (outcome.ok()) {
    return {};
  }
  const bool unheld = outcome.error().code == Code::kDenied;
  return Failure{unheld ? Exit::kCheckFailed : Exit::kUnreachable, outcome.error().what, next};
}

std::vector<std::string> fingerprints_of(const std::vector<NamedKey>& keys) {
  std::vector<std::string> prints;
  prints.reserve(keys.size());
  for (const NamedKey& entry : keys) {
    prints.push_back(entry.key.fingerprint());
  }
  return prints;
}

// Sessions of keys that go: how many were open when the watch began, and that none is any more.
class SessionWatch {
 public:
  SessionWatch(const BoxPaths& paths, std::vector<std::string> gone)
      : reader_(paths.audit_log_real), gone_(std::move(gone)) {}

  Status begin() {
    AB_CHECK(read());
    before_ = open_.count(gone_);
    return {};
  }
  Status await(std::uint64_t generation) {
    return insist([&]() -> Status {
      AB_CHECK(read());
      if (open_.generation() < generation) {
        return Error{Code::kTimeout, "the door has not said that its new keys are in force"};
      }
      const std::size_t left = open_.count(gone_);
      return left == 0
                 ? Status{}
                 : Status{Error{Code::kDenied,
                                std::to_string(left) + " session(s) of a key that is gone go on"}};
    });
  }
  [[nodiscard]] std::size_t before() const { return before_; }
  [[nodiscard]] bool watches() const { return !gone_.empty(); }

 private:
  Status read() {
    return reader_.read([&](const AuditLine& line, std::string_view) { open_.take(line); });
  }

  AuditReader reader_;
  OpenSessions open_;
  std::vector<std::string> gone_;
  std::size_t before_ = 0;
};

constexpr const char* kUntilThen =
    "run the command again; until it succeeds a key that is gone may enter";

// CHANGE is in the record and published; the box runs. What is gone is refused, its sessions have
// ended, and the keys that are left hold.
Done prove_change(const KeyChange& change, SessionWatch& watch, KeysDone& done) {
  if (!change.gone.empty()) {
    AB_CHECK(proven(insist([&] { return prove_refused(contact_here(change.record), change.gone); }),
                    kUntilThen));
    done.proofs.push_back(std::to_string(change.gone.size()) + " key(s) that are gone are refused");
  }
  AB_CHECK(proven(watch.await(change.record.generation), kUntilThen));
  done.proofs.push_back("the door goes by key generation " +
                        std::to_string(change.record.generation));
  if (done.sessions_ended && watch.watches()) {
    done.proofs.emplace_back("no session of a key that is gone is open");
    done.sessions_ended = watch.before();
  }
  Proof proof;
  const auto hold = [&]() -> Status {
    AB_TRY(held, prove_once(contact_here(change.record)));
    proof = std::move(held);
    return {};
  };
  AB_CHECK(proven(insist(hold), kUntilThen));
  done.proofs.push_back(std::move(proof.words));
  done.proven = true;
  return {};
}

Failure not_finished(const BoxName& name) {
  return Failure{Exit::kRefused, "box " + name.text() + " is not finished",
                 "run create again, or delete it"};
}

}  // namespace

// First the record, then the door's folder: what is cut short between them is made up for by the
// next start.
Done LocalBackend::put_keys(const BoxRecord& record) const {
  AB_CHECK(store_.save(record));
  return advise(publish_keys(store_.paths(record.name).keys, record),
                "see whether the disk is full, and run the command again");
}

Answer<LocalBackend::Held> LocalBackend::hold_finished(const BoxName& name) const {
  AB_TRY(lock, store_.lock(name));
  if (!lock) {
    return no_such_box(name);
  }
  AB_TRY(record, store_.load_existing(name));
  if (record.phase == Phase::kCreating) {
    return not_finished(name);
  }
  AB_TRY(seen, look(record, true));
  return Held{std::move(lock), std::move(seen)};
}

// The new keys enter besides the old ones, which stay until this is proven.
Done LocalBackend::admit_new_keys(const KeyChange& grown, const std::string& private_key) const {
  log::info("adding", {{"keys", std::to_string(grown.added.size())}});
  AB_CHECK(put_keys(grown.record));
  BoxRecord with_new = grown.record;
  with_new.identity_file = private_key;
  const auto enter = [&]() -> Status {
    AB_TRY(proof, prove_once(contact_here(with_new)));
    static_cast<void>(proof);
    return {};
  };
  return proven(insist(enter), "the old keys still enter; run the command again");
}

Answer<KeysDone> LocalBackend::rotate(const BoxName& name,
                                      const std::vector<std::string>& key_files) const {
  AB_TRY(given, read_key_files(key_files));
  AB_TRY(held, hold_finished(name));
  const BoxPaths paths = store_.paths(name);
  const bool running = held.view.state == State::kRunning;
  AB_TRY(next, decide_keys(held.view.record, paths, given));
  AB_TRY(grown, add_keys(held.view.record, next.keys));
  if (running) {
    AB_CHECK(admit_new_keys(grown, next.made.empty() ? next.identity_file : next.made));
  }
  if (!next.made.empty() && std::rename(next.made.c_str(), paths.identity.c_str()) != 0) {
    return errno_error(paths.identity);
  }
  const KeyChange shrunk = keep_only(grown.record, next.keys, next.asked, next.identity_file);
  KeysDone done{std::move(held.view), false, grown.added, shrunk.gone, 0, false, false, {}};
  SessionWatch watch(paths, fingerprints_of(shrunk.gone));
  if (running) {
    AB_CHECK(watch.begin());
  }
  log::info("dropping", {{"keys", std::to_string(shrunk.gone.size())}});
  AB_CHECK(put_keys(shrunk.record));
  if (next.identity_file != paths.identity) {
    ::unlink(paths.identity.c_str());  // a private key that opens nothing is still a secret
  }
  if (running) {
    AB_CHECK(prove_change(shrunk, watch, done));
  }
  done.changed = !grown.added.empty() || !shrunk.gone.empty();
  held.lock.reset();  // else the box looks as if somebody else were at work on it
  AB_TRY(seen, look(shrunk.record, true));
  done.view = std::move(seen);
  return done;
}

// What every change of keys ends with, after it is published and, where the box runs, proven.
Answer<KeysDone> LocalBackend::finish_change(Held held, KeyChange& change, KeysDone done,
                                             bool evict) const {
  if (evict) {
    // One that shall run and does not: an eviction that was cut short.
    AB_CHECK(replace_host_key(change.record, change.record.phase == Phase::kRunning));
    done.evicted = true;
    done.changed = true;
  }
  held.lock.reset();  // else the box looks as if somebody else were at work on it
  AB_TRY(seen, look(change.record, true));
  done.view = std::move(seen);
  return done;
}

Answer<KeysDone> LocalBackend::revoke(const BoxName& name, const std::string& key,
                                      bool evict) const {
  AB_TRY(asked, key_asked_for(key));
  AB_TRY(held, hold_finished(name));
  const BoxRecord& before = held.view.record;
  const bool running = held.view.state == State::kRunning;
  const bool is_identity = fingerprint_at(before.identity_file) == asked.fingerprint;
  AB_TRY(change, revoke_key(before, asked.fingerprint, is_identity, asked.key));
  KeysDone done{held.view,
                change.record.generation != before.generation,
                {},
                change.gone,
                0,
                false,
                false,
                {},
                change.gone_prints};
  if (holds_key(before.spec.authorities, asked.fingerprint)) {
    // Sessions are known by the keys of their certificates, not by the CA that signed them.
    done.sessions_ended.reset();
  }
  SessionWatch watch(store_.paths(name), {asked.fingerprint});
  if (running) {
    AB_CHECK(watch.begin());
  }
  // Also where nothing changed: an earlier try may have been cut short after its record.
  AB_CHECK(put_keys(change.record));
  if (change.gone.empty()) {
    std::copy_if(
        change.record.revoked.begin(), change.record.revoked.end(), std::back_inserter(change.gone),
        [&](const NamedKey& entry) { return entry.key.fingerprint() == asked.fingerprint; });
  }
  if (running) {
    AB_CHECK(prove_change(change, watch, done));
  }
  return finish_change(std::move(held), change, std::move(done), evict);
}

Answer<KeysDone> LocalBackend::change(const BoxName& name, const Change& change, bool evict) const {
  AB_TRY(held, hold_finished(name));
  const bool running = held.view.state == State::kRunning;
  AB_TRY(made, change(held.view.record));
  const bool changed = made.record.generation != held.view.record.generation;
  KeysDone done{held.view, changed, made.added, made.gone, {}, false, false, {}};
  SessionWatch watch(store_.paths(name), fingerprints_of(made.gone));
  if (running) {
    AB_CHECK(watch.begin());
  }
  AB_CHECK(put_keys(made.record));
  if (running) {
    AB_CHECK(prove_change(made, watch, done));
  }
  return finish_change(std::move(held), made, std::move(done), evict);
}

// Everything that runs in the box ends, and clients are pinned to a new host key. Cut short, it is
// finished by the next start: the record decides which of two host keys counts.
Done LocalBackend::replace_host_key(BoxRecord& record, bool start_again) const {
  const BoxPaths paths = store_.paths(record.name);
  log::info("replacing the box side and the host key", {{"name", record.name.text()}});
  AB_TRY(accounts, find_accounts());
  AB_CHECK(stop_supervisor(paths));
  AB_TRY(key, ensure_private_key(next_host_key(paths), accounts.door, "host"));
  record.host_key = key.key.text();
  AB_CHECK(store_.save(record));
  AB_CHECK(make_lasting_files(paths, accounts, record));
  AB_CHECK(write_known_hosts(paths, accounts, record));
  return start_again ? start(record) : Done{};
}

}  // namespace agentbox::provision
