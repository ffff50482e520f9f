// edge: see local.h.
#include "provision/local.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "base/text.h"
#include "provision/audit_head.h"
#include "provision/door_config.h"
#include "provision/host.h"
#include "provision/local_checks.h"
#include "provision/local_files.h"
#include "provision/proof.h"
#include "provision/supervisor.h"

namespace agentbox::provision {
namespace {

/// A door that was just ended lets go of its port in milliseconds.
constexpr std::chrono::seconds kPortWait{3};
constexpr int kPortPauseMs = 20;
constexpr std::chrono::seconds kProbeTime{3};

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) {
    all += (all.empty() ? "" : "; ") + text;
  }
  return all;
}

std::vector<std::string> fingerprints(const std::vector<NamedKey>& keys) {
  std::vector<std::string> prints;
  prints.reserve(keys.size());
  for (const NamedKey& entry : keys) {
    prints.push_back(entry.key.fingerprint());
  }
  std::sort(prints.begin(), prints.end());
  return prints;
}

Done check_same(const BoxRecord& record, const WantedBox& wanted) {
  std::vector<std::string> found = differences(record.spec, wanted.spec);
  if (found.empty() && !wanted.spec.identity.empty() &&
      fingerprints(record.keys) != fingerprints(wanted.keys)) {
    found.push_back("the key in " + wanted.spec.identity + " is another one than it was");
  }
  if (found.empty()) {
    return {};
  }
  BoxSpec same_authorities = wanted.spec;
  same_authorities.authorities = record.spec.authorities;
  if (differences(record.spec, same_authorities).size() <
          differences(record.spec, wanted.spec).size() &&
      found.size() == 1) {
    return Failure{Exit::kRefused,
                   "box " + record.name.text() + " exists and trusts others: " + found.front(),
                   "`agentbox-provision ca trust --box " + record.name.text() +
                       " --ca FILE` adds a CA, `revoke` takes one out; nothing was changed"};
  }
  return Failure{Exit::kRefused,
                 "box " + record.name.text() + " exists and is another one: " + joined(found),
                 "choose another name, or `agentbox-provision delete " + record.name.text() +
                     "` first; nothing was changed"};
}

bool waits_for_port(std::uint16_t port) {
  const auto deadline = std::chrono::steady_clock::now() + kPortWait;
  while (!port_is_free(port)) {
    if (std::chrono::steady_clock::now() > deadline) {
      return false;
    }
    ::poll(nullptr, 0, kPortPauseMs);  // the kernel tells nobody of a port that becomes free
  }
  return true;
}

// Gives a new box its port, and makes sure that an old one can have its own again.
Done settle_port(const Store& store, BoxRecord& record) {
  if (record.port != 0 && waits_for_port(record.port)) {
    return {};
  }
  if (record.port != 0 && record.phase != Phase::kCreating) {
    return Failure{Exit::kRefused,
                   "port " + std::to_string(record.port) + " of box " + record.name.text() +
                       " is taken by another program",
                   "end that program (ss -ltnp shows it); clients know the box by this port"};
  }
  AB_TRY(lock, store.lock_ports());
  AB_TRY(port, choose_port(store.ports_in_use()));
  record.port = port;
  return store.save(record);
}

// True where another command is at work on the box.
bool is_being_changed(const BoxPaths& paths) {
  const UniqueFd fd(::open(paths.lock.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  return fd && ::flock(fd.get(), LOCK_SH | LOCK_NB) != 0;
}

struct Condition {
  State state = State::kStopped;
  std::string reason;
};

Condition condition_of(const BoxRecord& record, const BoxPaths& paths,
                       const std::optional<RunningSupervisor>& supervisor) {
  if (record.phase == Phase::kCreating) {
    return is_being_changed(paths)
               ? Condition{State::kPending, "being made"}
               : Condition{State::kFailed, "its creation did not finish; run create again"};
  }
  if (record.phase == Phase::kSuspended) {
    if (!supervisor) {
      return {State::kSuspended, ""};
    }
    return is_being_changed(paths)
               ? Condition{State::kPending, "being suspended or resumed"}
               : Condition{State::kFailed, "a suspend or resume did not finish; run it again"};
  }
  if (!supervisor) {
    return is_being_changed(paths) ? Condition{State::kPending, "being started"}
                                   : Condition{State::kStopped, "its supervisor ended; run resume"};
  }
  if (!supervisor->note) {
    return {State::kPending, "starting"};
  }
  const SupervisorNote& note = *supervisor->note;
  for (const ChildNote& side : {note.door, note.box}) {
    if (side.pid == 0 && side.last_end.empty()) {
      return {State::kPending, "starting"};
    }
  }
  if (note.door.pid == 0) {
    return {State::kFailed, "the door ended (" + note.door.last_end + ") and is started again"};
  }
  if (note.box.pid == 0) {
    return {State::kFailed, "the box side ended (" + note.box.last_end + ") and is started again"};
  }
  return {State::kRunning, ""};
}

// Empty where it answers on its pinned host key, else why it does not.
std::string silence(const BoxRecord& record) {
  auto target = target_of(record);
  if (!target.ok()) {
    return target.error().what;
  }
  auto client = SshClient::connect(*target, std::chrono::steady_clock::now() + kProbeTime);
  return client.ok() ? std::string() : client.error().what;
}

}  // namespace

Answer<BoxView> LocalBackend::look(const BoxRecord& record, bool probe) const {
  const BoxPaths paths = store_.paths(record.name);
  AB_TRY(supervisor, find_supervisor(paths));
  Condition condition = condition_of(record, paths, supervisor);
  if (probe && condition.state == State::kRunning) {
    if (std::string why = silence(record); !why.empty()) {
      condition = {State::kFailed, "it does not answer: " + why};
    }
  }
  BoxView view{record, {}, condition.state, condition.reason, {}};
  view.ssh = SshFacts{record.name.text(), kLocalAddress, record.port, record.identity_file,
                      paths.known_hosts};
  view.workspace = record.spec.workspace.empty() ? paths.workspace : record.spec.workspace;
  if (auto head = read_audit_head(paths.door_state); head.ok()) {
    view.audit_head = std::move(head).value();
  } else {
    view.no_audit_head =
        head.error().code == Code::kNotFound ? "the door has not started yet" : head.error().what;
  }
  return view;
}

Answer<BoxView> LocalBackend::view(const BoxName& name, bool probe) const {
  AB_TRY(record, store_.load_existing(name));
  return look(record, probe);
}

Answer<Report> LocalBackend::try_create(const BoxName& name, const CreateOptions& options) const {
  AB_TRY(wanted, read_wanted_box(options));
  AB_CHECK(check_create(name, wanted));
  AB_TRY(record, store_.load(name));
  Report report;
  report.json["name"] = name.text();
  report.json["backend"] = "local";
  report.json["dry_run"] = true;
  report.json["exists"] = record.has_value();
  report.text = record ? "box " + name.text() + " exists already; nothing would be changed\n"
                       : "box " + name.text() + " would be made in " + store_.paths(name).box +
                             "; nothing was changed\n";
  return report;
}

Answer<Contact> LocalBackend::contact(const BoxName& name) const {
  AB_TRY(record, store_.load_existing(name));
  return contact_here(record);
}

Answer<std::vector<LogTail>> LocalBackend::logs(const BoxName& name,
                                                std::uint64_t /*lines*/) const {
  AB_TRY(record, store_.load_existing(name));
  return tails_here(store_.paths(record.name));
}

Answer<std::vector<BoxView>> LocalBackend::views() const {
  AB_TRY(names, store_.names());
  std::vector<BoxView> views;
  for (const BoxName& name : names) {
    auto record = store_.load(name);
    if (!record.ok()) {  // one that cannot be read hides no other
      log::error("a box is left out of the list",
                 {{"name", name.text()}, {"why", record.error().message}});
      continue;
    }
    if (*record) {  // else it was deleted just now
      AB_TRY(seen, look(**record, false));
      views.push_back(std::move(seen));
    }
  }
  return views;
}

// Brings the box to life as RECORD says and proves its keys. The lock is held.
Done LocalBackend::start(BoxRecord& record) const {
  const BoxPaths paths = store_.paths(record.name);
  AB_TRY(means, check_local(store_, record.name, record.spec, programs_));
  AB_CHECK(stop_supervisor(paths));
  AB_CHECK(make_lasting_files(paths, means.accounts, record));
  AB_CHECK(settle_port(store_, record));
  AB_CHECK(store_.save(record));
  AB_CHECK(write_start_files(paths, means, record));
  log::info("starting the box",
            {{"name", record.name.text()}, {"port", std::to_string(record.port)}});
  AB_TRY(supervisor, start_supervisor(store_.root(), record.name, paths));
  auto proof = prove(record, paths, supervisor.pidfd);
  if (!proof.ok()) {
    static_cast<void>(stop_supervisor(paths));  // a box that does not work does not run on
    return std::move(proof).error();
  }
  log::info("proven", {{"what", proof->words}});
  record.phase = Phase::kRunning;
  return store_.save(record);
}

// What can be refused is refused here, before the first folder is made.
Done LocalBackend::check_create(const BoxName& name, const WantedBox& wanted) const {
  AB_TRY(record, store_.load(name));
  if (record) {
    return check_same(*record, wanted);
  }
  AB_TRY(means, check_local(store_, name, wanted.spec, programs_));
  static_cast<void>(means);
  return {};
}

// The record that a create goes on from: a finished box's, an interrupted create's, or a new one.
// The lock is held.
Answer<BoxRecord> LocalBackend::begin_create(const BoxName& name, const WantedBox& wanted) const {
  AB_TRY(existing, store_.load(name));
  if (existing) {
    AB_CHECK(check_same(*existing, wanted));
    if (existing->phase != Phase::kCreating || !existing->host_key.empty()) {
      return std::move(*existing);
    }
  }
  BoxRecord record = new_record(name);
  record.spec = wanted.spec;
  record.keys = wanted.keys;
  record.identity_file = wanted.spec.identity;
  AB_CHECK(store_.save(record));
  return record;
}

Answer<LocalBackend::Changed> LocalBackend::create(const BoxName& name,
                                                   const CreateOptions& options) const {
  AB_TRY(wanted, read_wanted_box(options));
  if (wanted.cluster.gateway.kind != GatewayKind::kNone) {
    return Failure{Exit::kUsage, "a gateway is for a box in a cluster",
                   "add --kubernetes, or leave the gateway out"};
  }
  AB_CHECK(check_create(name, wanted));
  AB_TRY(lock, store_.lock_new(name));
  AB_TRY(record, begin_create(name, wanted));
  if (record.phase != Phase::kCreating) {
    AB_TRY(seen, look(record, true));
    if (seen.state == State::kRunning || seen.state == State::kSuspended) {
      return Changed{std::move(seen), false};
    }
  }
  if (wanted.spec.isolation == Isolation::kNone) {
    log::warning(isolation_warning());
  }
  AB_CHECK(start(record));
  AB_TRY(seen, look(record, true));
  return Changed{std::move(seen), true};
}

Answer<LocalBackend::Changed> LocalBackend::suspend(const BoxName& name) const {
  AB_TRY(lock, store_.lock(name));
  if (!lock) {
    return no_such_box(name);
  }
  AB_TRY(record, store_.load_existing(name));
  const BoxPaths paths = store_.paths(name);
  AB_TRY(supervisor, find_supervisor(paths));
  if (record.phase == Phase::kCreating) {
    return Failure{Exit::kRefused, "box " + name.text() + " is not finished",
                   "run create again, or delete it"};
  }
  const bool changed = supervisor.has_value() || record.phase != Phase::kSuspended;
  record.phase = Phase::kSuspended;
  AB_CHECK(store_.save(record));
  if (supervisor) {
    log::info("suspending the box; calls that run have 20 s to end", {{"name", name.text()}});
  }
  AB_CHECK(stop_supervisor(paths));
  AB_TRY(seen, look(record, false));
  return Changed{std::move(seen), changed};
}

Answer<LocalBackend::Changed> LocalBackend::resume(const BoxName& name) const {
  AB_TRY(lock, store_.lock(name));
  if (!lock) {
    return no_such_box(name);
  }
  AB_TRY(record, store_.load_existing(name));
  if (record.phase == Phase::kCreating) {
    return Failure{Exit::kRefused, "box " + name.text() + " is not finished",
                   "run create again, or delete it"};
  }
  AB_TRY(before, look(record, true));
  if (before.state == State::kRunning) {
    return Changed{std::move(before), false};
  }
  AB_CHECK(start(record));
  AB_TRY(seen, look(record, true));
  return Changed{std::move(seen), true};
}

Answer<LocalBackend::Removed> LocalBackend::remove(const BoxName& name, bool keep_workspace) const {
  AB_TRY(lock, store_.lock(name));
  if (!lock) {
    return Removed{};
  }
  const BoxPaths paths = store_.paths(name);
  AB_CHECK(stop_supervisor(paths));
  Removed removed{true, {}};
  if (keep_workspace && ::access(paths.workspace.c_str(), F_OK) == 0) {
    const std::string kept = store_.root() + "/kept";
    AB_CHECK(make_folder(kept, 0700, ::geteuid(), ::getegid()));
    removed.kept_workspace = kept + "/" + name.text() + "-" + random_hex(4);
    if (::rename(paths.workspace.c_str(), removed.kept_workspace.c_str()) != 0) {
      return errno_error(paths.workspace);
    }
  }
  AB_CHECK(store_.remove(name, *lock));
  return removed;
}

}  // namespace agentbox::provision
