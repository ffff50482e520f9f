// pure: see judge.h.
#include "provision/audit/judge.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "base/text.h"

namespace agentbox::provision::audit {
namespace {

using Findings = std::vector<Finding>;

/// Past these a limit no longer keeps one client from using up the door.
struct Bound {
  std::string_view limit;
  std::uint64_t most = 0;
};
constexpr std::array<Bound, 9> kBounds = {{{"connections", 4096},
                                           {"unauthenticated", 1024},
                                           {"channels_per_connection", 64},
                                           {"login_points", 60},
                                           {"login_grace_seconds", 60},
                                           {"idle_seconds", 3600},
                                           {"keepalive_seconds", 600},
                                           {"keepalive_misses", 10},
                                           {"drain_seconds", 600}}};

/// What may start a session; all else has to be refused.
constexpr std::array<std::string_view, 4> kMayStart = {
    "shell", "exec, any command", "subsystem mcp", "global keepalive@openssh.com"};

/// No algorithm of the door's has one of these in its name.
constexpr std::array<std::string_view, 11> kWeakParts = {
    "sha1", "ssh-rsa", "ssh-dss", "-cbc",           "3des",  "arcfour",
    "md5",  "umac",    "group1",  "group-exchange", "ripemd"};

std::string octal(std::uint64_t mode) {
  std::string digits;
  for (mode &= 07777U; mode != 0; mode >>= 3U) {
    digits.insert(digits.begin(), static_cast<char>('0' + (mode & 7U)));
  }
  return "0" + digits;
}

bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address == "::1";
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : ", ") + word;
  }
  return text;
}

bool is_weak(std::string_view algorithm) {
  // As a whole name: lists say in words too why something is not offered.
  return algorithm == "none" ||
         std::any_of(kWeakParts.begin(), kWeakParts.end(), [&](std::string_view part) {
           return algorithm.find(part) != std::string_view::npos;
         });
}

// The weak ones of a comma-separated list.
std::vector<std::string> weak_ones(std::string_view list) {
  std::vector<std::string> weak;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    const std::string_view name = list.substr(at, end - at);
    if (is_weak(name)) {
      weak.emplace_back(name);
    }
    at = end + 1;
  }
  return weak;
}

// Those that have a rule of their own are not told twice.
void judge_weakenings(const Policy& policy, Findings& out) {
  static constexpr std::array<std::string_view, 4> kJudgedAlone = {"keys_trust", "pass_env",
                                                                   "libssh", "sanitizer build"};
  for (const Line& weakening : policy.weakenings) {
    const bool alone =
        std::any_of(kJudgedAlone.begin(), kJudgedAlone.end(),
                    [&](std::string_view start) { return weakening.what.starts_with(start); });
    if (!alone) {
      out.push_back({RuleId::kNamedWeakening, weakening.what, weakening.gets});
    }
  }
}

void judge_limits(const BoxFacts& facts, const Policy& policy, Findings& out) {
  for (const LimitFact& limit : policy.limits) {
    const auto* const bound = std::find_if(kBounds.begin(), kBounds.end(), [&](const Bound& each) {
      return each.limit == limit.name;
    });
    const bool open_to_own =
        limit.name == "own_unauthenticated" && limit.value == 0 && !is_loopback(policy.address);
    if (open_to_own || (bound != kBounds.end() && limit.value > bound->most)) {
      out.push_back(
          {RuleId::kLooseLimit, "limits." + limit.name,
           std::to_string(limit.value) + "; the default is " + std::to_string(limit.usual) +
               (open_to_own ? ""
                            : ", and more than " + std::to_string(bound->most) + " is too much"),
           facts.config});
    }
  }
}

void judge_library(const BoxFacts& facts, const LibraryFact& library, Findings& out) {
  const std::string subject =
      "libssh " + library.version + (library.package.empty() ? "" : " (" + library.package + ")");
  if (library.below_floor) {
    out.push_back({RuleId::kLibraryFloor, subject, "the floor is " + library.floor});
  }
  for (const Line& hole : library.open) {
    out.push_back({RuleId::kLibraryHole, hole.what, hole.gets + "; " + subject});
  }
  if (!library.acknowledged.empty() && !library.acknowledged_holds) {
    out.push_back({RuleId::kStaleAcknowledgement, "libssh_backports_acknowledged",
                   library.acknowledged + " is acknowledged, " + subject + " runs", facts.config});
  }
}

void judge_requests(const Policy& policy, Findings& out) {
  for (const Line& request : policy.requests) {
    const bool may = std::find(kMayStart.begin(), kMayStart.end(), request.what) != kMayStart.end();
    if (!may && !request.gets.starts_with("refused")) {
      out.push_back({RuleId::kGrantsRequest, request.what, request.gets});
    }
  }
  for (const Line& list : policy.algorithms) {
    // `none` is what compression has to be.
    for (const std::string& name :
         list.what == "compression" ? std::vector<std::string>() : weak_ones(list.gets)) {
      out.push_back({RuleId::kWeakAlgorithm, name, list.what});
    }
  }
}

void judge_policy(const BoxFacts& facts, Findings& out) {
  if (!facts.policy) {
    out.push_back({RuleId::kPolicyUnreadable, facts.config, facts.policy_error, facts.config});
    return;
  }
  const Policy& policy = *facts.policy;
  if (policy.keys_trust != "strict") {
    out.push_back({RuleId::kKeysTrustAny, "keys_trust", policy.keys_trust + "; it should be strict",
                   facts.config});
  }
  for (const std::string& name : policy.pass_env) {
    out.push_back({looks_secret(name) ? RuleId::kPassSecret : RuleId::kPassVariable,
                   "pass_env: " + name, "every command in the box can read it", facts.config});
  }
  if (!is_loopback(policy.address)) {
    out.push_back({RuleId::kListensWide, "listen.address",
                   policy.address + "; a local box needs 127.0.0.1", facts.config});
  }
  if (policy.sanitizer) {
    out.push_back({RuleId::kSanitizerBuild, "agentbox-sshd", "built with a sanitizer"});
  }
  judge_limits(facts, policy, out);
  judge_requests(policy, out);
  judge_library(facts, policy.library, out);
  judge_weakenings(policy, out);
}

void judge_altered(const BoxFacts& facts, Findings& out) {
  const auto find = [&](RuleId rule, const Line& altered) {
    out.push_back({rule, altered.what, altered.gets, altered.what});
  };
  if (facts.altered_config) {
    find(RuleId::kAlteredConfig, *facts.altered_config);
  }
  for (const Line& altered : facts.altered_keys) {
    find(RuleId::kAlteredKeys, altered);
  }
  if (facts.altered_pin) {
    find(RuleId::kAlteredPin, *facts.altered_pin);
  }
}

void judge_key(const BoxFacts& facts, const KeyFact& key, Findings& out) {
  const std::string subject =
      key.listed.fingerprint + (key.listed.label.empty() ? "" : " (" + key.listed.label + ")");
  if (!key.also_in.empty()) {
    out.push_back({RuleId::kSharedKey, subject, "also opens " + joined(key.also_in)});
  }
  if (key.bits != 0 && key.bits < kLeastRsaBits) {
    out.push_back({RuleId::kShortKey, subject, std::to_string(key.bits) + " bits"});
  }
  if (key.listed.expires && *key.listed.expires <= facts.now) {
    out.push_back({RuleId::kExpiredKey, subject, "its time is over"});
  }
  if (key.age_days && *key.age_days > kOldKeyDays) {
    out.push_back({RuleId::kOldKey, subject, std::to_string(*key.age_days) + " days old"});
  }
  if (!key.known) {
    out.push_back({RuleId::kUnknownKey, subject, "not in box.json", facts.keys_file});
  }
}

void judge_keys(const BoxFacts& facts, Findings& out) {
  for (const KeyFact& key : facts.keys) {
    judge_key(facts, key, out);
  }
  if (!facts.host_key_also_in.empty()) {
    out.push_back(
        {RuleId::kSharedHostKey, "host key", "also of " + joined(facts.host_key_also_in)});
  }
  if (!facts.policy) {
    return;
  }
  for (const Line& problem : facts.policy->key_problems) {
    out.push_back({RuleId::kBadKeyLine, "authorized_keys line " + problem.what, problem.gets,
                   facts.keys_file});
  }
  if (!facts.policy->keys_error.empty()) {
    out.push_back({RuleId::kKeysRefused, "key files", facts.policy->keys_error, facts.keys_file});
  }
  if (facts.policy->host_fingerprint != facts.pinned) {
    out.push_back({RuleId::kHostKey, "host key",
                   (facts.policy->host_fingerprint.empty() ? facts.policy->host_key_error
                                                           : facts.policy->host_fingerprint) +
                       "; pinned is " + facts.pinned});
  }
}

void judge_places(const BoxFacts& facts, Findings& out) {
  for (const Place& place : facts.places) {
    if (!place.there) {
      out.push_back({RuleId::kMissingPlace, place.path, place.holds, place.path});
      continue;
    }
    if (place.owner != place.wanted_owner) {
      out.push_back({RuleId::kForeignPlace, place.path,
                     place.holds + ": belongs to uid " + std::to_string(place.owner) +
                         "; chown it to " + std::to_string(place.wanted_owner),
                     place.path});
    }
    if (!place.unusable.empty()) {
      out.push_back({RuleId::kUnusablePlace, place.path,
                     place.holds + ": mode " + octal(place.mode) + ", and " + place.unusable +
                         "; chmod it to " + octal(place.wanted_mode),
                     place.path});
    }
    if ((place.mode & place.closed) != 0) {
      out.push_back({place.program ? RuleId::kOpenProgram : RuleId::kOpenPlace, place.path,
                     place.holds + ": mode " + octal(place.mode) + "; chmod it to " +
                         octal(place.wanted_mode),
                     place.path});
    }
    if (!place.strange.empty()) {
      out.push_back({RuleId::kOtherProgram, place.path, place.strange, place.path});
    }
  }
}

std::string process_name(const ProcessFact& process) {
  return process.role + " (pid " + std::to_string(process.pid) + ")";
}

std::string rights_text(const ProcessFact& process) {
  return "uid " + std::to_string(process.uid) + ", capabilities " + process.effective +
         ", no new privileges " + (process.no_new_privileges ? "yes" : "no") + ", filter " +
         std::to_string(process.filter);
}

void judge_process(const ProcessFact& process, Findings& out) {
  const std::string name = process_name(process);
  if (process.uid == 0 || has_capability(process.effective)) {
    out.push_back({RuleId::kRights, name,
                   "uid " + std::to_string(process.uid) + ", capabilities " + process.effective});
  }
  if (process.role == "network" && (!process.no_new_privileges || process.filter != 2)) {
    out.push_back({RuleId::kUnlocked, name,
                   std::string("no new privileges: ") + (process.no_new_privileges ? "yes" : "no") +
                       ", system call filter: " + (process.filter == 2 ? "yes" : "no")});
  }
  if (process.inspectable.value_or(false)) {
    out.push_back({RuleId::kInspectable, name, "it is dumpable"});
  }
  for (const std::string& held : process.descriptors) {
    const auto space = held.find(' ');
    const std::string what = space == std::string::npos ? held : held.substr(space + 1);
    const bool standard =
        held.starts_with("0 ") || held.starts_with("1 ") || held.starts_with("2 ");
    if (!standard && what != "connection" && what != "monitor") {
      out.push_back({RuleId::kForeignDescriptor, name, "descriptor " + held});
    }
  }
}

// As an ordinary user the box's user namespace gives its processes that user's own rights alone.
void judge_processes(const BoxFacts& facts, const std::vector<ProcessFact>& processes,
                     Findings& out) {
  std::optional<std::uint64_t> door;
  for (const ProcessFact& process : processes) {
    if (process.role == "monitor") {
      door = process.uid;
    }
  }
  for (const ProcessFact& process : processes) {
    judge_process(process, out);
    if (process.role == "box" && facts.separate_users && door == process.uid) {
      out.push_back(
          {RuleId::kSharedUser, process_name(process), "both are uid " + std::to_string(*door)});
    }
  }
}

const ProcessFact* find_process(const std::vector<ProcessFact>& processes,
                                const ProcessFact& wanted) {
  const auto at = std::find_if(processes.begin(), processes.end(), [&](const ProcessFact& each) {
    return each.pid == wanted.pid && each.role == wanted.role;
  });
  return at == processes.end() ? nullptr : &*at;
}

// Network children come and go: the door tells of one of them, and only what it tells is compared.
void compare_readings(const BoxFacts& facts, Findings& out) {
  for (const ProcessFact& seen : facts.seen) {
    const ProcessFact* told = find_process(facts.isolation->processes, seen);
    const bool lasts = seen.role == "monitor" || seen.role == "listener";
    if (told == nullptr && lasts) {
      out.push_back({RuleId::kReadingDiffers, process_name(seen), "the door does not name it"});
    } else if (told != nullptr &&
               (told->uid != seen.uid || told->effective != seen.effective ||
                told->filter != seen.filter || told->no_new_privileges != seen.no_new_privileges)) {
      out.push_back({RuleId::kReadingDiffers, process_name(seen),
                     "told: " + rights_text(*told) + "; seen: " + rights_text(seen)});
    }
  }
}

void judge_isolation(const BoxFacts& facts, Findings& out) {
  if (!facts.isolated) {
    out.push_back({RuleId::kNoIsolation, facts.name, "isolation: none"});
  }
  if (!facts.running) {
    return;
  }
  std::vector<ProcessFact> processes;
  if (facts.isolation) {
    processes = facts.isolation->processes;
    compare_readings(facts, out);
  } else {
    out.push_back({RuleId::kNoReading, facts.name, facts.isolation_error});
  }
  for (const ProcessFact& seen : facts.seen) {
    if (find_process(processes, seen) == nullptr) {
      processes.push_back(seen);
    }
  }
  judge_processes(facts, processes, out);
  for (const NamespaceFact& space :
       facts.isolated ? facts.namespaces : std::vector<NamespaceFact>()) {
    if (space.same) {
      out.push_back({RuleId::kSharedNamespace, space.name, "door and box are in the same"});
    }
  }
}

// What could not be tried for one reason is one finding.
void judge_trials(const std::vector<Trial>& trials, Findings& out) {
  std::map<std::string, std::vector<std::string>> untried;
  for (const Trial& trial : trials) {
    if (!trial.tried) {
      untried[trial.got].push_back(trial.what);
    } else if (!trial.held) {
      out.push_back({RuleId::kTrialGranted, trial.what, trial.got});
    }
  }
  for (const auto& [reason, what] : untried) {
    out.push_back({RuleId::kTrialFailed, reason, joined(what)});
  }
}

void judge_live(const BoxFacts& facts, Findings& out) {
  judge_trials(facts.trials, out);
  for (const std::string& place : facts.behind_wall) {
    out.push_back({RuleId::kWallOpen, place, "it is there when looked for from inside the box"});
  }
}

}  // namespace

std::uint64_t rsa_bits(std::string_view blob) {
  // RFC 4253 section 6.6: three lengths and texts: the type, e, n.
  std::string_view part;
  for (int i = 0; i < 3; ++i) {
    if (blob.size() < 4) {
      return 0;
    }
    std::size_t length = 0;
    for (int byte = 0; byte < 4; ++byte) {
      length = length << 8U | static_cast<unsigned char>(blob[static_cast<std::size_t>(byte)]);
    }
    if (length > blob.size() - 4) {
      return 0;
    }
    part = blob.substr(4, length);
    blob.remove_prefix(4 + length);
    if (i == 0 && part != "ssh-rsa") {
      return 0;
    }
  }
  part.remove_prefix(std::min(part.find_first_not_of('\0'), part.size()));
  if (part.empty()) {
    return 0;
  }
  std::uint64_t bits = (part.size() - 1) * 8;
  for (unsigned first = static_cast<unsigned char>(part.front()); first != 0; first >>= 1U) {
    ++bits;
  }
  return bits;
}

bool looks_secret(std::string_view name) {
  static constexpr std::array<std::string_view, 9> kParts = {
      "TOKEN", "SECRET", "PASS", "KEY", "CREDENTIAL", "AUTH", "COOKIE", "SESSION", "PRIVATE"};
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return std::any_of(kParts.begin(), kParts.end(),
                     [&](std::string_view part) { return upper.find(part) != std::string::npos; });
}

std::vector<Finding> judge(const BoxFacts& facts) {
  Findings found;
  judge_policy(facts, found);
  judge_keys(facts, found);
  judge_altered(facts, found);
  judge_places(facts, found);
  judge_isolation(facts, found);
  judge_live(facts, found);
  if (!facts.audit_log.empty()) {
    found.push_back({RuleId::kAuditLog, "audit log", facts.audit_log});
  }
  std::stable_sort(found.begin(), found.end(), [](const Finding& a, const Finding& b) {
    const auto rank = [](const Finding& each) {
      return std::pair(-static_cast<int>(rule_of(each.rule).severity), static_cast<int>(each.rule));
    };
    return rank(a) < rank(b);
  });
  return found;
}

}  // namespace agentbox::provision::audit
