// pure: see paper.h.
#include "provision/audit/paper.h"

#include <algorithm>

#include "base/utc.h"
#include "provision/audit/judge.h"

namespace agentbox::provision::audit {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string octal(std::uint64_t mode) {
  std::string digits;
  for (int shift = 9; shift >= 0; shift -= 3) {
    digits += static_cast<char>('0' + (mode >> static_cast<unsigned>(shift) & 7U));
  }
  return digits;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : ", ") + word;
  }
  return text;
}

std::string yes_no(bool value) { return value ? "yes" : "no"; }

Section requests_of(const BoxFacts& facts) {
  Section section{"requests",
                  "What a client can ask for, and what it gets",
                  {"asked for", "policy", "in words"},
                  {},
                  "The policy is what agentbox-sshd answers for this configuration."};
  if (facts.policy) {
    for (const Line& line : facts.policy->logins) {
      section.rows.push_back({"login: " + line.what, line.gets == "refused" ? "refused" : "rule",
                              line.gets == "refused" ? "" : line.gets});
    }
    for (const Line& line : facts.policy->requests) {
      const bool refused = line.gets.starts_with("refused");
      section.rows.push_back(
          {line.what, refused ? "refused" : "granted",
           refused ? line.gets.substr(std::min<std::size_t>(
                         line.gets.size(), line.gets.starts_with("refused: ") ? 9 : 7))
                   : line.gets});
    }
  }
  return section;
}

Section trials_of(const BoxFacts& facts) {
  Section section{
      "trials",
      "What the live door did when it was asked",
      {"asked for", "outcome", "answer"},
      {},
      facts.live ? "" : "Nothing was tried: --live connects and tries each refused thing."};
  for (const Trial& trial : facts.trials) {
    section.rows.push_back({trial.what,
                            !trial.tried ? "not tried"
                            : trial.held ? "held"
                                         : "GRANTED",
                            trial.got});
  }
  return section;
}

Section algorithms_of(const BoxFacts& facts) {
  Section section{"algorithms", "Algorithms", {"for", "offered, the best first"}, {}, ""};
  if (facts.policy) {
    for (const Line& line : facts.policy->algorithms) {
      section.rows.push_back({line.what, line.gets});
    }
  }
  return section;
}

std::string options_of(const KeyFact& key) {
  std::string text = "role " + key.listed.role;
  text += key.listed.from ? ", from= limits its addresses" : "";
  text += key.listed.expires ? ", until " + format_time(*key.listed.expires * 1000) : "";
  return text;
}

Section keys_of(const BoxFacts& facts) {
  Section section{
      "keys", "Keys", {"fingerprint", "type", "label", "options", "age", "also opens"}, {}, ""};
  section.rows.push_back({facts.pinned, "host key", "", "", "", joined(facts.host_key_also_in)});
  for (const KeyFact& key : facts.keys) {
    section.rows.push_back(
        {key.listed.fingerprint,
         key.type + (key.bits == 0 ? "" : ", " + std::to_string(key.bits) + " bits"),
         key.listed.label, options_of(key),
         key.age_days ? std::to_string(*key.age_days) + " days" : "not known",
         joined(key.also_in)});
  }
  for (const AuthorityFact& authority : facts.authorities) {
    section.rows.push_back({authority.fingerprint, "user CA, " + authority.type, authority.label,
                            "its certificates for the box's name", "", joined(authority.also_in)});
  }
  if (facts.policy) {
    section.note = "Generation " + std::to_string(facts.policy->generation) + "; " +
                   std::to_string(facts.policy->revoked) +
                   " revoked. The age is the private key file's, where it lies here.";
  }
  return section;
}

Section limits_of(const BoxFacts& facts) {
  Section section{"limits", "Limits", {"limit", "value", "default", "of what"}, {}, ""};
  if (facts.policy) {
    for (const LimitFact& limit : facts.policy->limits) {
      section.rows.push_back(
          {limit.name, std::to_string(limit.value), std::to_string(limit.usual), limit.unit});
    }
  }
  return section;
}

std::vector<std::string> process_row(const ProcessFact& process, const std::string& source) {
  std::string held;
  for (const std::string& descriptor : process.descriptors) {
    held += (held.empty() ? "" : ", ") + descriptor;
  }
  return {process.role,
          std::to_string(process.pid),
          std::to_string(process.uid) + ":" + std::to_string(process.gid),
          has_capability(process.effective) ? process.effective : "none",
          yes_no(process.no_new_privileges),
          process.filter == 2 ? "yes" : "no",
          process.inspectable ? yes_no(*process.inspectable) : "not known",
          held,
          source};
}

Section processes_of(const BoxFacts& facts) {
  Section section{"processes",
                  "Isolation really in force",
                  {"process", "pid", "user", "capabilities", "no new privileges", "call filter",
                   "can be inspected", "held before its lock", "read by"},
                  {},
                  ""};
  if (facts.isolation) {
    for (const ProcessFact& process : facts.isolation->processes) {
      section.rows.push_back(process_row(process, "the door"));
    }
    section.note = "The door wrote its reading at " + facts.isolation->written + ". ";
  } else {
    section.note = facts.isolation_error + ". ";
  }
  for (const ProcessFact& process : facts.seen) {
    section.rows.push_back(process_row(process, "this audit"));
  }
  section.note += facts.not_seen;
  return section;
}

Section wall_of(const BoxFacts& facts) {
  Section section{"wall", "The wall between door and box", {"what", "how it is"}, {}, ""};
  section.rows.push_back({"isolation", facts.isolated ? "bubblewrap" : "NONE"});
  section.rows.push_back(
      {"users", facts.separate_users
                    ? "door and box are two system users, neither of them root"
                    : "door and box are one ordinary user; the namespaces are the wall"});
  for (const NamespaceFact& space : facts.namespaces) {
    section.rows.push_back({space.name + " namespace", space.same ? "SHARED" : "of its own"});
  }
  section.rows.push_back({"network", "shared with this machine: a local box has no network wall"});
  if (!facts.wall.empty()) {
    section.rows.push_back(
        {"seen from inside", facts.behind_wall.empty() ? facts.wall : "NOT hidden"});
  }
  return section;
}

Section library_of(const BoxFacts& facts) {
  Section section{"library", "libssh as it runs", {"what", "how it is"}, {}, ""};
  if (facts.policy) {
    const LibraryFact& library = facts.policy->library;
    section.rows = {{"version", library.version},
                    {"package", library.package.empty() ? "not known" : library.package},
                    {"floor", library.floor + (library.below_floor ? ": BELOW" : ": kept")},
                    {"acknowledged",
                     library.acknowledged.empty()
                         ? "nothing"
                         : library.acknowledged + (library.acknowledged_holds ? "" : ": STALE")},
                    {"known holes open", std::to_string(library.open.size())}};
  }
  return section;
}

Section places_of(const BoxFacts& facts) {
  Section section{
      "places", "Files and folders", {"path", "holds", "owner", "mode", "as it should be"}, {}, ""};
  for (const Place& place : facts.places) {
    const bool good = place.there && place.owner == place.wanted_owner &&
                      (place.mode & place.closed) == 0 && place.unusable.empty();
    section.rows.push_back({place.path, place.holds, place.there ? std::to_string(place.owner) : "",
                            place.there ? octal(place.mode) : "missing", good ? "yes" : "NO"});
  }
  return section;
}

Section audit_of(const BoxFacts& facts) {
  return {"audit_log",
          "Audit log",
          {"what", "how it is"},
          {{"whole", facts.audit_log.empty() ? "yes" : "NO: " + facts.audit_log},
           {"lines", std::to_string(facts.audit_lines)}},
          "It holds who, when, which tool, sizes and hashes; no command and no content."};
}

}  // namespace

BoxPaper describe(const BoxFacts& facts) {
  BoxPaper paper;
  paper.name = facts.name;
  paper.state = facts.state;
  paper.live = facts.live;
  paper.isolated = facts.isolated;
  paper.config = facts.config;
  paper.findings = judge(facts);
  paper.sections = {requests_of(facts), trials_of(facts),  algorithms_of(facts),
                    keys_of(facts),     limits_of(facts),  processes_of(facts),
                    wall_of(facts),     library_of(facts), places_of(facts),
                    audit_of(facts)};
  return paper;
}

Counts count(const std::vector<Finding>& findings) {
  Counts counts;
  for (const Finding& finding : findings) {
    ++(rule_of(finding.rule).severity == Severity::kError ? counts.errors : counts.warnings);
  }
  return counts;
}

Counts count(const Paper& paper) {
  Counts all;
  for (const BoxPaper& box : paper.boxes) {
    const Counts each = count(box.findings);
    all.errors += each.errors;
    all.warnings += each.warnings;
  }
  return all;
}

std::string verdict(const Counts& counts) {
  if (counts.errors + counts.warnings == 0) {
    return "sound: nothing was found";
  }
  const auto some = [](std::size_t number, const char* what) {
    return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
  };
  return some(counts.errors, "error") + ", " + some(counts.warnings, "warning");
}

}  // namespace agentbox::provision::audit
