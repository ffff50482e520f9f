// pure: how a record changes when keys come and go.
#include "provision/key_change.h"

#include "base/text.h"
#include "sample.h"
#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::provision;

namespace {

NamedKey made(char fill) {
  std::string blob("\0\0\0\x0bssh-ed25519\0\0\0\x20", 19);
  blob.append(32, fill);
  return sample::key("ssh-ed25519 " + base64_encode(blob) + " key-" + fill);
}

std::string print(char fill) { return made(fill).key.fingerprint(); }

BoxRecord with_keys(const std::string& fills) {
  BoxRecord record = sample::record();
  record.keys.clear();
  for (const char fill : fills) {
    record.keys.push_back(made(fill));
  }
  record.spec.keys = record.keys;
  return record;
}

std::string labels(const std::vector<NamedKey>& keys) {
  std::string text;
  for (const NamedKey& entry : keys) {
    text += entry.label.back();
  }
  return text;
}

}  // namespace

TEST_CASE("adding keys keeps those that enter, and raises the generation once") {
  const auto change = add_keys(with_keys("ab"), {made('b'), made('c'), made('d')});
  REQUIRE(change.ok());
  CHECK(labels(change->record.keys) == "abcd");
  CHECK(labels(change->added) == "cd");
  CHECK(change->record.generation == 8);
  CHECK(add_keys(with_keys("ab"), {made('a')})->record.generation == 7);
}

TEST_CASE("a key that is given with another role has that role alone") {
  BoxRecord record = sample::record();
  NamedKey reader = record.keys[0];
  reader.role = Role::kReader;
  const auto change = add_keys(record, {reader});
  REQUIRE(change.ok());
  REQUIRE(change->record.keys.size() == 1);
  CHECK(change->record.keys[0].role == Role::kReader);
  CHECK(change->added.size() == 1);
  CHECK(change->record.generation == record.generation + 1);
}

TEST_CASE("a revoked key does not come back, and nothing changes") {
  BoxRecord record = with_keys("a");
  record.revoked = {made('x')};
  const auto change = add_keys(record, {made('b'), made('x')});
  REQUIRE_FALSE(change.ok());
  CHECK(change.error().exit == Exit::kRefused);
  CHECK(change.error().message.find(print('x')) != std::string::npos);
}

TEST_CASE("more keys than one box may have are refused") {
  std::vector<NamedKey> many;
  for (std::size_t i = 0; i < kMaxKeys; ++i) {
    many.push_back(made(static_cast<char>(i)));
  }
  BoxRecord record = sample::record();
  CHECK(add_keys(record, many).error().exit == Exit::kRefused);
}

TEST_CASE("keeping only the wanted drops the others, and remembers them to be refused") {
  const KeyChange change =
      keep_only(with_keys("abcd"), {made('c')}, AskedKeys{{made('c')}, ""}, "/state/key");
  CHECK(labels(change.record.keys) == "c");
  CHECK(labels(change.gone) == "abd");
  CHECK(labels(change.record.former) == "abd");
  CHECK(labels(change.record.spec.keys) == "c");
  CHECK(change.record.identity_file == "/state/key");
  CHECK(change.record.generation == 8);
  CHECK(labels(keys_to_refuse(change.record)) == "abd");
  // A former key that is wanted again is no longer to be refused.
  CHECK(labels(add_keys(change.record, {made('b')})->record.former) == "ad");
}

TEST_CASE("only the newest former keys are remembered") {
  BoxRecord record = with_keys("a");
  for (char fill = 'b'; fill <= 'z'; ++fill) {
    record = add_keys(record, {made(fill)})->record;
    record = keep_only(record, {made(fill)}, AskedKeys{{made(fill)}, ""}, "").record;
  }
  CHECK(record.former.size() == kMaxFormerKeys);
  CHECK(labels(record.former) == "klmnopqrstuvwxy");
}

TEST_CASE("a revoked key leaves every list but that of the revoked") {
  const auto change = revoke_key(with_keys("ab"), print('a'), true);
  REQUIRE(change.ok());
  CHECK(labels(change->record.keys) == "b");
  CHECK(labels(change->record.spec.keys) == "b");
  CHECK(labels(change->record.revoked) == "a");
  CHECK(labels(change->gone) == "a");
  CHECK(change->record.identity_file.empty());
  CHECK(change->record.generation == 8);
  const auto again = revoke_key(change->record, print('a'), false);
  REQUIRE(again.ok());
  CHECK(again->gone.empty());
  CHECK(again->record.generation == 8);
}

TEST_CASE("the last key, and one that was rotated out, can be revoked; an unknown one cannot") {
  CHECK(revoke_key(with_keys("a"), print('a'), false)->record.keys.empty());
  const KeyChange rotated = keep_only(with_keys("ab"), {made('b')}, AskedKeys{}, "");
  const auto change = revoke_key(rotated.record, print('a'), false);
  REQUIRE(change.ok());
  CHECK(change->record.former.empty());
  CHECK(labels(change->record.revoked) == "a");
  const auto unknown = revoke_key(with_keys("ab"), print('z'), false);
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.error().exit == Exit::kRefused);
  CHECK(unknown.error().next.find(print('a')) != std::string::npos);
}

TEST_CASE("a key that was never listed can be revoked where a certificate could let it in") {
  BoxRecord record = with_keys("a");
  CHECK_FALSE(revoke_key(record, print('z'), false, made('z')).ok());
  record.spec.authorities = {made('c')};
  const auto known = revoke_key(record, print('z'), false, made('z'));
  REQUIRE(known.ok());
  CHECK(labels(known->record.revoked) == "z");
  CHECK(labels(known->gone) == "z");
  CHECK(known->record.generation == 8);
  const auto unseen = revoke_key(record, print('z'), false);
  REQUIRE(unseen.ok());
  CHECK(unseen->gone.empty());
  CHECK(unseen->gone_prints == std::vector{print('z')});
  CHECK(unseen->record.revoked_prints == std::vector{print('z')});
  CHECK(unseen->record.generation == 8);
  const auto again = revoke_key(unseen->record, print('z'), false, made('z'));
  REQUIRE(again.ok());
  CHECK(again->record.generation == 8);
  CHECK_FALSE(add_keys(unseen->record, {made('z')}).ok());
  CHECK_FALSE(trust_authorities(unseen->record, {made('z')}).ok());
  const auto back = parse_record(render_record(unseen->record));
  REQUIRE(back.ok());
  CHECK(back->revoked_prints == std::vector{print('z')});
  Json old = parse_json(render_record(record)).value();
  old["version"] = 3;
  old.erase("revoked_prints");
  CHECK(parse_record(dump_json(old)).ok());
}

TEST_CASE("a key that may enter is no CA") {
  const auto refused = trust_authorities(with_keys("a"), {made('c'), made('a')});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().exit == Exit::kRefused);
  CHECK(refused.error().message.find(print('a')) != std::string::npos);
}

TEST_CASE("box.json keeps former and revoked keys, and one of version 1 had none") {
  BoxRecord record = with_keys("a");
  record.former = {made('b')};
  record.revoked = {made('c'), made('d')};
  const auto back = parse_record(render_record(record));
  REQUIRE(back.ok());
  CHECK(labels(back->former) == "b");
  CHECK(labels(back->revoked) == "cd");
  Json old = parse_json(render_record(record)).value();
  old["version"] = 1;
  old.erase("former");
  old.erase("revoked");
  const auto read = parse_record(dump_json(old));
  REQUIRE(read.ok());
  CHECK(read->former.empty());
  CHECK(read->revoked.empty());
  old["version"] = 2;
  CHECK_FALSE(parse_record(dump_json(old)).ok());
}

TEST_CASE("a CA is trusted once, and a revoked one never again") {
  const BoxRecord record = with_keys("a");
  const auto trusted = trust_authorities(record, {made('c')});
  REQUIRE(trusted.ok());
  CHECK(labels(trusted->record.spec.authorities) == "c");
  CHECK(trusted->record.generation == record.generation + 1);
  const auto again = trust_authorities(trusted->record, {made('c')});
  REQUIRE(again.ok());
  CHECK(again->record.generation == trusted->record.generation);
  const auto revoked = revoke_key(trusted->record, print('c'), false);
  REQUIRE(revoked.ok());
  CHECK(revoked->record.spec.authorities.empty());
  CHECK(labels(revoked->record.revoked) == "c");
  CHECK(labels(revoked->record.keys) == "a");
  CHECK(trust_authorities(revoked->record, {made('c')}).error().exit == Exit::kRefused);
}

TEST_CASE("a serial is revoked once") {
  const BoxRecord record = with_keys("a");
  const auto revoked = revoke_serial(record, 7);
  REQUIRE(revoked.ok());
  CHECK(revoked->record.revoked_serials == std::vector<std::uint64_t>{7});
  CHECK(revoked->record.generation == record.generation + 1);
  CHECK(revoke_serial(revoked->record, 7)->record.generation == revoked->record.generation);
  BoxRecord full = record;
  full.revoked_serials.resize(kMaxRevokedSerials);
  CHECK_FALSE(revoke_serial(full, 7).ok());
}
