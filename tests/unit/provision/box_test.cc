// pure: box.json and specs.
#include "provision/box.h"

#include <string>

#include "base/json.h"
#include "sample.h"
#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::provision;

namespace {

// The sample's box.json with one member replaced.
std::string with(const std::string& member, const Json& value) {
  Json json = parse_json(render_record(sample::record())).value();
  json[member] = value;
  return dump_json(json);
}

}  // namespace

TEST_CASE("box.json read back is what was written") {
  BoxRecord record = sample::record();
  record.spec.keys = {sample::key(std::string(sample::kKey) + " anna@desk")};
  record.spec.identity = "/home/a b/id";
  record.spec.workspace = "/srv/100%/work";
  record.spec.isolation = Isolation::kNone;
  const std::string text = render_record(record);
  const auto parsed = parse_record(text);
  REQUIRE(parsed.ok());
  CHECK(render_record(*parsed) == text);
  CHECK(parsed->name == record.name);
  CHECK(parsed->phase == Phase::kRunning);
  CHECK(parsed->port == 20123);
  CHECK(parsed->generation == 7);
  CHECK(parsed->keys.front().label == "anna@desk");
  CHECK(parsed->spec.workspace == "/srv/100%/work");
}

TEST_CASE("a record that is not finished has no port and no host key yet") {
  BoxRecord record = sample::record();
  record.phase = Phase::kCreating;
  record.host_key.clear();
  record.identity_file.clear();
  record.keys.clear();
  record.port = 0;
  CHECK(parse_record(render_record(record)).ok());
}

TEST_CASE("what this build could not have written is refused") {
  const std::vector<std::pair<std::string, Json>> bad = {
      {"version", 7},
      {"version", "1"},
      {"name", "Bad Name"},
      {"name", 5},
      {"phase", "sleeping"},
      {"port", 65536},
      {"port", -1},
      {"generation", 1.5},
      {"keys", "none"},
      {"keys", Json::array({Json{{"key", "ssh-ed25519 AAAA"}, {"label", ""}}})},
      {"keys", Json::array({Json{{"key", sample::kKey}, {"label", "a\nb"}}})},
      {"identity_file", "relative"},
      {"identity_file", "/a\nb"},
      {"identity_file", "/a/${HOME}/b"},
      {"host_key", "ssh-rsa AAAA"},
      {"host_key", std::string(sample::kKey) + " with a comment"},
      {"host_key", "@cert-authority * ssh-ed25519 AAAA"},
      {"revoked_serials", "7"},
      {"revoked_serials", Json::array({-1})},
      {"spec", nullptr},
      {"spec", Json::array()},
  };
  for (const auto& [member, value] : bad) {
    CAPTURE(member, value.dump());
    CHECK_FALSE(parse_record(with(member, value)).ok());
  }
  CHECK_FALSE(parse_record("").ok());
  CHECK_FALSE(parse_record("[]").ok());
  CHECK_FALSE(parse_record(std::string(kMaxRecordBytes + 1, ' ')).ok());
}

TEST_CASE("a label is one line of printable text, whatever the key file's comment holds") {
  CHECK(sample::key(std::string(sample::kKey) + " caf\xc3\xa9 \x1b[31m").label ==
        "caf\\xc3\\xa9 \\x1b[31m");
}

TEST_CASE("a key's line may give it a role, and no other option") {
  const std::string plain = std::string(sample::kKey) + " anna@desk";
  const auto agent = parse_key_line(plain);
  REQUIRE(agent.ok());
  CHECK(agent->role == Role::kAgent);
  CHECK(key_line(*agent) == plain);
  const std::string with_role = "agentbox-role=\"reader\" " + plain;
  const auto reader = parse_key_line(with_role);
  REQUIRE(reader.ok());
  CHECK(reader->role == Role::kReader);
  CHECK(reader->label == "anna@desk");
  CHECK(key_line(*reader) == with_role);
  CHECK(described({*reader}) == std::vector<std::string>{reader->key.fingerprint() + " (reader)"});
  for (const std::string_view option :
       {"agentbox-role=reader ", "agentbox-role=\"root\" ", "agentbox-role=\"reader\"", "restrict ",
        "agentbox-role=\"reader\",pty ", "agentbox-role=\"reader\" pty ", "agentbox-role=\""}) {
    CHECK_FALSE(parse_key_line(std::string(option) + plain).ok());
  }
}

TEST_CASE("a record keeps roles, and one of an earlier version had none") {
  BoxRecord record = sample::record();
  record.keys[0].role = Role::kReader;
  const std::string text = render_record(record);
  const auto read = parse_record(text);
  REQUIRE(read.ok());
  CHECK(read->keys[0].role == Role::kReader);
  auto json = OrderedJson::parse(text);
  json["version"] = 5;
  json["keys"][0].erase("role");
  const auto old = parse_record(json.dump());
  REQUIRE(old.ok());
  CHECK(old->keys[0].role == Role::kAgent);
  json["keys"][0]["role"] = "root";
  CHECK_FALSE(parse_record(json.dump()).ok());
}

TEST_CASE("equal specs do not differ, in whatever order their keys are given") {
  BoxSpec one;
  one.keys = {sample::key(sample::kKey), sample::key(sample::kOtherKey)};
  BoxSpec two;
  two.keys = {sample::key(sample::kOtherKey),
              sample::key(std::string(sample::kKey) + " other label")};
  CHECK(differences(one, two).empty());
}

TEST_CASE("each difference is named with both sides") {
  BoxSpec existing;
  BoxSpec wanted;
  wanted.keys = {sample::key(sample::kKey)};
  wanted.workspace = "/srv/work";
  wanted.isolation = Isolation::kNone;
  const auto found = differences(existing, wanted);
  REQUIRE(found.size() == 3);
  CHECK(found[0] == "keys is one made here, asked for is " + wanted.keys.front().key.fingerprint());
  CHECK(found[1] == "workspace is one made here, asked for is /srv/work");
  CHECK(found[2] == "isolation is bubblewrap, asked for is none");
}

TEST_CASE("paths that can be stored, printed and quoted") {
  CHECK(check_path("/a b/c%d/'e\"").ok());
  CHECK(check_path("/\xc3\xa4").ok());
  CHECK_FALSE(check_path("").ok());
  CHECK_FALSE(check_path("a").ok());
  CHECK_FALSE(check_path("/a\tb").ok());
  CHECK_FALSE(check_path("/a\x7f").ok());
  CHECK_FALSE(check_path("/\xff").ok());
  CHECK_FALSE(check_path("/${X}").ok());
}
