// pure: tests of provision/audit: what is found in a box, and what is not.
#include "provision/audit/judge.h"

#include <algorithm>
#include <functional>
#include <set>

#include "base/text.h"
#include "provision/audit/paper.h"
#include "sample.h"
#include "support/catch.h"

using namespace agentbox::provision::audit;

namespace {

struct Weakness {
  RuleId rule;
  std::function<void(BoxFacts&)> weaken;
};

const std::vector<Weakness>& weaknesses() {
  static const std::vector<Weakness> kAll = {
      {RuleId::kPolicyUnreadable, [](BoxFacts& box) { box.policy.reset(); }},
      {RuleId::kKeysTrustAny, [](BoxFacts& box) { box.policy->keys_trust = "any"; }},
      {RuleId::kPassSecret, [](BoxFacts& box) { box.policy->pass_env = {"GITHUB_TOKEN"}; }},
      {RuleId::kPassVariable, [](BoxFacts& box) { box.policy->pass_env = {"LANG"}; }},
      {RuleId::kLooseLimit, [](BoxFacts& box) { box.policy->limits[2].value = 600; }},
      {RuleId::kGrantsRequest, [](BoxFacts& box) { box.policy->requests[1].gets = "granted"; }},
      {RuleId::kWeakAlgorithm,
       [](BoxFacts& box) { box.policy->algorithms[0].gets += ",aes128-cbc"; }},
      {RuleId::kSanitizerBuild, [](BoxFacts& box) { box.policy->sanitizer = true; }},
      {RuleId::kLibraryFloor, [](BoxFacts& box) { box.policy->library.below_floor = true; }},
      {RuleId::kLibraryHole,
       [](BoxFacts& box) {
         box.policy->library.open = {{"CVE-2026-59847", "changed bytes pass"}};
       }},
      {RuleId::kStaleAcknowledgement,
       [](BoxFacts& box) { box.policy->library.acknowledged = "0.10.6-0+deb12u2"; }},
      {RuleId::kNamedWeakening,
       [](BoxFacts& box) {
         box.policy->weakenings = {{"sanitizer build", "told by its own rule"},
                                   {"a defence is left out", "closed-descriptors"}};
       }},
      {RuleId::kAlteredConfig,
       [](BoxFacts& box) {
         box.altered_config = Line{box.config, "line 4 is other"};
       }},
      {RuleId::kAlteredKeys,
       [](BoxFacts& box) {
         box.altered_keys = {{"/keys/user_ca", "line 1 was added"}};
       }},
      {RuleId::kAlteredPin,
       [](BoxFacts& box) {
         box.altered_pin = Line{"/known_hosts", "line 2 was added"};
       }},
      {RuleId::kUnusablePlace, [](BoxFacts& box) { box.places[1].unusable = "uid 1 cannot"; }},
      {RuleId::kBadKeyLine,
       [](BoxFacts& box) {
         box.policy->key_problems = {{"3", "no key"}};
       }},
      {RuleId::kKeysRefused, [](BoxFacts& box) { box.policy->keys_error = "writable by others"; }},
      {RuleId::kSharedKey, [](BoxFacts& box) { box.keys[0].also_in = {"other"}; }},
      {RuleId::kShortKey, [](BoxFacts& box) { box.keys[0].bits = 2048; }},
      {RuleId::kExpiredKey, [](BoxFacts& box) { box.keys[0].listed.expires = box.now; }},
      {RuleId::kOldKey, [](BoxFacts& box) { box.keys[0].age_days = kOldKeyDays + 1; }},
      {RuleId::kUnknownKey, [](BoxFacts& box) { box.keys[0].known = false; }},
      {RuleId::kHostKey, [](BoxFacts& box) { box.policy->host_fingerprint = "SHA256:x"; }},
      {RuleId::kSharedHostKey, [](BoxFacts& box) { box.host_key_also_in = {"copy"}; }},
      {RuleId::kOpenPlace, [](BoxFacts& box) { box.places[0].mode = 0640; }},
      {RuleId::kForeignPlace, [](BoxFacts& box) { box.places[0].owner = 1000; }},
      {RuleId::kMissingPlace, [](BoxFacts& box) { box.places[0].there = false; }},
      {RuleId::kOpenProgram, [](BoxFacts& box) { box.places[1].mode = 0755; }},
      {RuleId::kOtherProgram, [](BoxFacts& box) { box.places[1].strange = "differs"; }},
      {RuleId::kNoIsolation, [](BoxFacts& box) { box.isolated = false; }},
      {RuleId::kNoReading, [](BoxFacts& box) { box.isolation.reset(); }},
      {RuleId::kUnlocked, [](BoxFacts& box) { box.isolation->processes[2].filter = 0; }},
      {RuleId::kForeignDescriptor,
       [](BoxFacts& box) { box.isolation->processes[2].descriptors.push_back("9 socket"); }},
      {RuleId::kInspectable, [](BoxFacts& box) { box.isolation->processes[1].inspectable = true; }},
      {RuleId::kSharedUser,
       [](BoxFacts& box) { box.isolation->processes.push_back(sound_process("box", 13)); }},
      {RuleId::kSharedNamespace, [](BoxFacts& box) { box.namespaces[0].same = true; }},
      {RuleId::kReadingDiffers, [](BoxFacts& box) { box.seen[0].no_new_privileges = true; }},
      {RuleId::kTrialGranted, [](BoxFacts& box) { box.trials[0].held = false; }},
      {RuleId::kTrialFailed, [](BoxFacts& box) { box.trials[0].tried = false; }},
      {RuleId::kWallOpen, [](BoxFacts& box) { box.behind_wall = {"/etc/shadow"}; }},
      {RuleId::kAuditLog, [](BoxFacts& box) { box.audit_log = "a line is missing"; }},
      {RuleId::kRights,
       [](BoxFacts& box) {
         box.seen.clear();
         box.isolation->processes[0].effective = "0000000000000400";
       }},
      {RuleId::kListensWide,
       [](BoxFacts& box) {
         box.policy->address = "::";
         box.policy->limits.erase(box.policy->limits.begin() + 1);
       }},
  };
  return kAll;
}

}  // namespace

TEST_CASE("a sound box has no finding") { CHECK(judge(sound_box()).empty()); }

TEST_CASE("each weakness alone is found, and nothing else with it") {
  for (const Weakness& weakness : weaknesses()) {
    CAPTURE(rule_of(weakness.rule).code);
    BoxFacts facts = sound_box();
    weakness.weaken(facts);
    const auto found = judge(facts);
    REQUIRE(found.size() == 1);
    CHECK(rule_of(found[0].rule).code == rule_of(weakness.rule).code);
    CHECK_FALSE(found[0].subject.empty());
  }
}

TEST_CASE("every rule has a weakness that it finds, a code of its own, and words") {
  std::set<RuleId> tried;
  for (const Weakness& weakness : weaknesses()) {
    tried.insert(weakness.rule);
  }
  std::set<std::string_view> codes;
  for (const Rule& rule : all_rules()) {
    CAPTURE(rule.code);
    const bool of_clusters = rule.code >= "AB070";  // cluster_test.cc finds those
    CHECK(tried.count(rule.id) == (of_clusters ? 0 : 1));
    CHECK(codes.insert(rule.code).second);
    CHECK(rule.code.starts_with("AB"));
    CHECK(rule.reference.starts_with("CWE-"));
    CHECK_FALSE(rule.why.empty());
    CHECK_FALSE(rule.fix.empty());
  }
}

TEST_CASE("no encryption at all is a weak algorithm") {
  BoxFacts facts = sound_box();
  facts.policy->algorithms[0].gets += ",none";
  const auto found = judge(facts);
  REQUIRE(found.size() == 1);
  CHECK(found[0].subject == "none");
}

TEST_CASE("a fix takes nothing from whom a place is for") {
  BoxFacts facts = sound_box();
  facts.places[1].mode = 0666;
  facts.policy->keys_error = "/keys can be written by others; who writes (close it)";
  const auto found = judge(facts);
  REQUIRE(found.size() == 2);
  CHECK(found[0].rule == RuleId::kKeysRefused);
  CHECK(found[0].detail.find("/keys can be written") != std::string::npos);
  CHECK(found[1].rule == RuleId::kOpenProgram);
  CHECK(found[1].detail.ends_with("chmod it to 0711"));
}

TEST_CASE("a key that nobody let in is found in the file that lists it") {
  BoxFacts facts = sound_box();
  facts.keys[0].known = false;
  const auto found = judge(facts);
  REQUIRE(found.size() == 1);
  CHECK(found[0].path == facts.keys_file);
}

TEST_CASE("a CA that two boxes trust is told, and no weakness") {
  BoxFacts facts = sound_box();
  facts.authorities = {{"SHA256:ca", "ssh-ed25519", "ours", {"other"}}};
  CHECK(judge(facts).empty());
  const auto paper = describe(facts);
  const auto keys = std::find_if(paper.sections.begin(), paper.sections.end(),
                                 [](const Section& each) { return each.id == "keys"; });
  REQUIRE(keys != paper.sections.end());
  CHECK(keys->rows.back() == std::vector<std::string>{"SHA256:ca", "user CA, ssh-ed25519", "ours",
                                                      "its certificates for the box's name", "",
                                                      "other"});
}

TEST_CASE("errors come before warnings") {
  BoxFacts facts = sound_box();
  facts.policy->pass_env = {"LANG", "API_KEY"};
  facts.audit_log = "a line is missing";
  const auto found = judge(facts);
  REQUIRE(found.size() == 3);
  CHECK(found[0].rule == RuleId::kPassSecret);
  CHECK(found[1].rule == RuleId::kAuditLog);
  CHECK(found[2].rule == RuleId::kPassVariable);
}

TEST_CASE("a door that is not loopback and lets its own machine try for ever is told") {
  BoxFacts facts = sound_box();
  facts.policy->address = "0.0.0.0";
  const auto found = judge(facts);
  REQUIRE(found.size() == 2);
  CHECK(found[1].rule == RuleId::kLooseLimit);
}

TEST_CASE("a box that does not run is not asked for its processes") {
  BoxFacts facts = sound_box();
  facts.running = false;
  facts.isolation.reset();
  CHECK(judge(facts).empty());
}

TEST_CASE("an ordinary user's door and box are one user") {
  BoxFacts facts = sound_box();
  facts.separate_users = false;
  facts.isolation->processes.push_back(sound_process("box", 13));
  CHECK(judge(facts).empty());
}

TEST_CASE("the length of an RSA key is its modulus's") {
  const auto part = [](const std::string& bytes) {
    return std::string{0, 0, static_cast<char>(bytes.size() >> 8U),
                       static_cast<char>(bytes.size() & 0xffU)} +
           bytes;
  };
  const std::string modulus = std::string(1, '\0') + '\x80' + std::string(255, '\1');
  const std::string blob = part("ssh-rsa") + part("\1\0\1") + part(modulus);
  CHECK(rsa_bits(blob) == 2048);
  CHECK(rsa_bits(part("ssh-ed25519") + part("x")) == 0);
  for (std::size_t i = 0; i < blob.size(); ++i) {
    CHECK(rsa_bits(blob.substr(0, i)) == 0);
  }
}

TEST_CASE("names of secrets") {
  for (const char* name : {"GITHUB_TOKEN", "api_key", "DB_PASSWORD", "AWS_SECRET_ACCESS"}) {
    CHECK(looks_secret(name));
  }
  for (const char* name : {"LANG", "TZ", "HTTP_PROXY"}) {
    CHECK_FALSE(looks_secret(name));
  }
}

TEST_CASE("an isolation report that is not whole is refused") {
  const std::string good =
      R"({"written":"x","processes":[{"role":"monitor","pid":1,"uid":2,"gid":3,"effective":"0",)"
      R"("bounding":"0","no_new_privileges":false,"filter":0,"pid_depth":1,"inspectable":null,)"
      R"("descriptors":[]}]})";
  const auto read = read_isolation(good);
  REQUIRE(read.ok());
  CHECK(read->processes.at(0).uid == 2);
  CHECK_FALSE(read->processes.at(0).inspectable.has_value());
  for (const char* bad :
       {"", "{}", "[]", R"({"written":"x","processes":[{}]})", R"({"written":"x","processes":[1]})",
        R"({"written":1,"processes":[]})"}) {
    CAPTURE(bad);
    CHECK_FALSE(read_isolation(bad).ok());
  }
  CHECK_FALSE(read_isolation(std::string(kMaxIsolationBytes + 1, ' ')).ok());
}
