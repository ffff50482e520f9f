// edge: see gather.h.
#include "provision/audit/gather.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>

#include "base/log.h"
#include "base/text.h"
#include "provision/audit/judge.h"
#include "provision/audit/live.h"
#include "provision/audit/processes.h"
#include "provision/audit/run_check.h"
#include "provision/audit_log.h"
#include "provision/keys.h"
#include "provision/places.h"
#include "provision/programs.h"
#include "provision/proof.h"
#include "provision/supervisor.h"
#include "provision/wall.h"
#include "provision/written.h"

namespace agentbox::provision::audit {
namespace {

using Clock = std::chrono::steady_clock;

/// The door writes what it read of a network child within a second.
constexpr std::chrono::seconds kReadingTime{3};
constexpr int kReadingPauseMs = 50;
constexpr std::chrono::seconds kWallTime{15};
constexpr std::int64_t kDaySeconds = 86'400;
constexpr std::size_t kMaxProgramBytes = 512U << 20U;

// The door's user owns the folder: the last part of the way is not followed through a link.
Result<std::string> read_doors_file(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd) {
    return errno_error(path);
  }
  return read_fd_capped(fd.get(), kMaxIsolationBytes);
}

Result<Isolation> read_reading(const std::string& path) {
  AB_TRY(text, read_doors_file(path));
  auto isolation = read_isolation(text);
  return isolation.ok() ? std::move(isolation) : std::move(isolation).error().in(path);
}

bool has_network_child(const Isolation& isolation) {
  return std::any_of(isolation.processes.begin(), isolation.processes.end(),
                     [](const ProcessFact& process) { return process.role == "network"; });
}

// Waits for the door to have told of a network child: every box that works has had one.
void gather_isolation(const BoxPaths& paths, BoxFacts& facts) {
  const std::string path = paths.door_state + "/isolation.json";
  const auto deadline = Clock::now() + (facts.running ? kReadingTime : std::chrono::seconds(0));
  for (;;) {
    auto isolation = read_reading(path);
    const bool whole = isolation.ok() && has_network_child(*isolation);
    const bool broken = !isolation.ok() && isolation.error().code != Code::kNotFound;
    if (whole || broken || Clock::now() >= deadline) {
      if (whole) {
        facts.isolation = std::move(isolation).value();
      } else {
        facts.isolation_error =
            isolation.ok() ? "the door has told of no network child yet" : isolation.error().what;
      }
      return;
    }
    ::poll(nullptr, 0, kReadingPauseMs);  // the door tells nobody when it has written
  }
}

void gather_places(const LocalBackend& backend, const BoxRecord& record, const Accounts& accounts,
                   BoxFacts& facts) {
  for (const WantedPlace& wanted : wanted_places(backend.store(), record, accounts)) {
    Place place;
    place.path = wanted.path;
    place.holds = wanted.holds;
    place.wanted_owner = wanted.owner;
    place.closed = wanted.closed;
    place.wanted_mode = wanted.mode;
    place.program = wanted.program;
    struct stat info {};
    if (::stat(wanted.path.c_str(), &info) == 0) {
      place.there = true;
      place.owner = info.st_uid;
      place.mode = info.st_mode & 07777U;
      place.unusable = unusable(wanted, accounts);
    }
    facts.places.push_back(std::move(place));
  }
}

void gather_altered(const Store& store, const BoxRecord& record, const Accounts& accounts,
                    BoxFacts& facts) {
  const BoxPaths paths = store.paths(record.name);
  const auto line = [](const Altered& altered) { return Line{altered.path, altered.how}; };
  for (const Altered& altered : altered_key_files(store, record.name)) {
    facts.altered_keys.push_back(line(altered));
  }
  if (const auto altered = altered_config(paths, record, accounts)) {
    facts.altered_config = line(*altered);
  }
  if (const auto altered = altered_pin(paths, record)) {
    facts.altered_pin = line(*altered);
  }
}

// Whether the box's own copies are what is installed.
void compare_programs(const Programs& installed, BoxFacts& facts) {
  for (Place& place : facts.places) {
    if (!place.program || !place.there) {
      continue;
    }
    const bool door = place.path.ends_with("/agentbox-sshd");
    const auto copy = read_file_capped(place.path, kMaxProgramBytes);
    const auto original = read_file_capped(door ? installed.door : installed.box, kMaxProgramBytes);
    if (!copy.ok() || !original.ok()) {
      place.strange = copy.ok() ? original.error().what : copy.error().what;
    } else if (*copy != *original) {
      place.strange = "sha256 " + sha256_hex(*copy).substr(0, 16) + "..., installed is " +
                      sha256_hex(*original).substr(0, 16) + "...";
    }
  }
}

std::optional<std::uint64_t> age_of(const BoxRecord& record, const std::string& fingerprint,
                                    std::int64_t now) {
  struct stat info {};
  if (record.identity_file.empty() || ::stat(record.identity_file.c_str(), &info) != 0) {
    return std::nullopt;
  }
  const auto secret = read_private_key(record.identity_file);
  const auto key = secret.ok() ? public_half(*secret) : Result<PublicKey>(secret.error());
  if (!key.ok() || key->fingerprint() != fingerprint) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(std::max<std::int64_t>(now - info.st_mtime, 0) / kDaySeconds);
}

bool lists(const std::vector<NamedKey>& keys, const std::string& fingerprint) {
  return std::any_of(keys.begin(), keys.end(),
                     [&](const NamedKey& each) { return each.key.fingerprint() == fingerprint; });
}

void gather_keys(const BoxRecord& record, BoxFacts& facts) {
  for (const NamedKey& authority : record.spec.authorities) {
    facts.authorities.push_back(
        {authority.key.fingerprint(), authority.key.type(), authority.label, {}});
  }
  for (const ListedKey& listed : facts.policy ? facts.policy->keys : std::vector<ListedKey>()) {
    KeyFact key;
    key.listed = listed;
    const auto parsed = PublicKey::parse(listed.key);
    if (parsed.ok()) {
      key.type = parsed->type();
      key.bits = rsa_bits(parsed->blob());
    }
    key.known = lists(record.keys, listed.fingerprint);
    key.age_days = age_of(record, listed.fingerprint, facts.now);
    facts.keys.push_back(std::move(key));
  }
}

// Which other boxes of this machine have the same keys.
Done gather_reuse(const Store& store, const BoxRecord& record, BoxFacts& facts) {
  AB_TRY(names, store.names());
  for (const BoxName& name : names) {
    const auto other = store.load(name);
    if (name == record.name || !other.ok() || !*other) {
      continue;  // one that cannot be read has its own audit
    }
    // As recorded, and as the door really has it.
    const auto pinned = PublicKey::parse((*other)->host_key);
    const std::string print = pinned.ok() ? pinned->fingerprint() : "";
    const bool same_now = facts.policy && facts.policy->host_fingerprint == print;
    if (!print.empty() && (print == facts.pinned || same_now)) {
      facts.host_key_also_in.push_back(name.text());
    }
    for (AuthorityFact& authority : facts.authorities) {
      if (lists((*other)->spec.authorities, authority.fingerprint)) {
        authority.also_in.push_back(name.text());
      }
    }
    for (KeyFact& key : facts.keys) {
      if (lists((*other)->keys, key.listed.fingerprint)) {
        key.also_in.push_back(name.text());
      }
    }
  }
  return {};
}

void gather_wall(const Store& store, const BoxRecord& record, BoxFacts& facts) {
  const auto places = hidden_places(store, record);
  auto session = open_session(contact_here(record), Clock::now() + kWallTime);
  if (!session.ok()) {
    facts.wall = "not looked at: " + session.error().message;
    return;
  }
  auto seen = seen_from_inside(*session, places);
  if (!seen.ok()) {
    facts.wall = "not looked at: " + seen.error().what;
    return;
  }
  facts.behind_wall = std::move(seen).value();
  facts.wall = std::to_string(places.size()) + " places and the processes of this machine: hidden";
}

void gather_audit_log(const BoxPaths& paths, BoxFacts& facts) {
  const auto verdict = check_audit(paths);
  if (!verdict.ok()) {
    facts.audit_log = verdict.error().what;
    return;
  }
  facts.audit_lines = verdict->lines;
  facts.audit_log = verdict->whole() ? "" : verdict->findings.front().text;
}

void gather_processes(const BoxPaths& paths, BoxFacts& facts) {
  const auto supervisor = find_supervisor(paths);
  if (!supervisor.ok() || !*supervisor || !(*supervisor)->note) {
    facts.not_seen = "The box does not run.";
    return;
  }
  const SupervisorNote& note = *(*supervisor)->note;
  Seen seen = look_at_processes(note.door.pid, note.box.pid);
  facts.seen = std::move(seen.processes);
  facts.namespaces = std::move(seen.namespaces);
  facts.not_seen = std::move(seen.missing);
}

void gather_policy(const Programs& programs, BoxFacts& facts) {
  auto policy = ask_policy(programs.door, facts.config);
  if (policy.ok()) {
    facts.policy = std::move(policy).value();
  } else {
    facts.policy_error = policy.error().what;
  }
}

}  // namespace

Answer<BoxFacts> gather(const LocalBackend& backend, const BoxName& name, bool live) {
  AB_TRY(view, backend.view(name, false));
  AB_TRY(accounts, find_accounts());
  AB_TRY(programs, find_programs(backend.programs()));
  const BoxRecord& record = view.record;
  const BoxPaths paths = backend.store().paths(name);
  log::info("audit", {{"box", name.text()}});
  BoxFacts facts;
  facts.name = name.text();
  facts.state = text_of(view.state);
  facts.isolated = record.spec.isolation == provision::Isolation::kBubblewrap;
  facts.separate_users = accounts.separate;
  facts.now = static_cast<std::int64_t>(std::time(nullptr));
  facts.config = paths.config;
  facts.running = view.state == State::kRunning;
  const auto pinned = PublicKey::parse(record.host_key);
  facts.pinned = pinned.ok() ? pinned->fingerprint() : "";
  facts.keys_file = paths.keys + "/..data/authorized_keys";
  gather_policy(programs, facts);
  gather_keys(record, facts);
  AB_CHECK(gather_reuse(backend.store(), record, facts));
  gather_places(backend, record, accounts, facts);
  gather_altered(backend.store(), record, accounts, facts);
  compare_programs(programs, facts);
  facts.live = live && facts.running;
  if (facts.live) {
    facts.trials = try_refusals(record);
    if (facts.isolated) {
      gather_wall(backend.store(), record, facts);
    }
  } else if (live) {
    facts.trials.push_back({"anything", "the box is " + facts.state, false, false});
  }
  gather_isolation(paths, facts);
  gather_processes(paths, facts);
  gather_audit_log(paths, facts);
  return facts;
}

}  // namespace agentbox::provision::audit
