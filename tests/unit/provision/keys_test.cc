// edge: key files.
#include "provision/keys.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "sample.h"
#include "support/catch.h"
#include "temporary_folder.h"

using namespace agentbox;
using namespace agentbox::provision;
using sample::TemporaryFolder;

namespace {

SpawnPlan::Identity self() { return {::geteuid(), ::getegid()}; }

std::string text_of(const std::string& path) { return read_file_capped(path, 1U << 20U).value(); }

}  // namespace

TEST_CASE("a file of public keys: comments and blank lines are skipped, CRLF is taken") {
  const TemporaryFolder folder;
  const auto keys = read_public_keys(folder.write(
      "k.pub", "# mine\r\n\r\n" + std::string(sample::kKey) + " anna\r\n" + sample::kOtherKey));
  REQUIRE(keys.ok());
  REQUIRE(keys->size() == 2);
  CHECK((*keys)[0].label == "anna");
  CHECK((*keys)[1].label.empty());
}

TEST_CASE("a private key given for a public one is refused by name") {
  const TemporaryFolder folder;
  const auto pair = generate_ed25519();
  REQUIRE(pair.ok());
  const auto keys = read_public_keys(folder.write("id", pair->private_key.reveal()));
  REQUIRE_FALSE(keys.ok());
  CHECK(keys.error().exit == Exit::kRefused);
  CHECK(keys.error().message.find("private key") != std::string::npos);
  CHECK(keys.error().message.find("BEGIN") == std::string::npos);
}

TEST_CASE("a line with options, rubbish, or no key at all is refused") {
  const TemporaryFolder folder;
  CHECK_FALSE(read_public_keys(folder.write("a", "no-pty " + std::string(sample::kKey))).ok());
  CHECK_FALSE(read_public_keys(folder.write("b", std::string(sample::kKey) + "\nrubbish\n")).ok());
  CHECK_FALSE(read_public_keys(folder.write("c", "# nothing\n")).ok());
  CHECK_FALSE(read_public_keys(folder / "missing").ok());
  CHECK_FALSE(read_public_keys(folder.path()).ok());
}

TEST_CASE("a made key is its owner's alone, is never replaced, and reads back") {
  const TemporaryFolder folder;
  const auto first = ensure_private_key(folder / "id", self(), "agentbox-demo");
  REQUIRE(first.ok());
  CHECK(first->label == "agentbox-demo");
  struct stat info {};
  REQUIRE(::stat((folder / "id").c_str(), &info) == 0);
  CHECK((info.st_mode & 07777U) == 0600U);
  const std::string text = text_of(folder / "id");
  CHECK(text.starts_with("-----BEGIN OPENSSH PRIVATE KEY-----\n"));
  const auto second = ensure_private_key(folder / "id", self(), "agentbox-demo");
  REQUIRE(second.ok());
  CHECK(second->key.blob() == first->key.blob());
  CHECK(text_of(folder / "id") == text);
}

TEST_CASE("a damaged key is an error, not a reason to make another one") {
  const TemporaryFolder folder;
  const std::string path = folder.write("id", "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n");
  CHECK_FALSE(ensure_private_key(path, self(), "x").ok());
  CHECK(text_of(path) == "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n");
}

TEST_CASE("the client's own private key: its public half and the comment beside it") {
  const TemporaryFolder folder;
  const auto pair = generate_ed25519();
  REQUIRE(pair.ok());
  const std::string path = folder.write("id", pair->private_key.reveal());
  auto identity = read_identity(path);
  REQUIRE(identity.ok());
  CHECK(identity->file == path);
  CHECK(identity->key.key.blob() == pair->public_key.blob());
  CHECK(identity->key.label.empty());
  folder.write("id.pub", pair->public_key.text() + " anna@desk\n");
  CHECK(read_identity(path)->key.label == "anna@desk");
  folder.write("id.pub", std::string(sample::kKey) + " somebody else\n");
  CHECK(read_identity(path)->key.key.blob() == pair->public_key.blob());
}

TEST_CASE("a private key that ssh would not use without asking is refused") {
  const TemporaryFolder folder;
  const auto pair = generate_ed25519();
  REQUIRE(pair.ok());
  const auto open_to_all = read_identity(folder.write("id", pair->private_key.reveal(), 0644));
  REQUIRE_FALSE(open_to_all.ok());
  CHECK(open_to_all.error().next.find("chmod 600") != std::string::npos);
  CHECK_FALSE(read_identity(folder.write("other", sample::kKey)).ok());
  CHECK_FALSE(read_identity(folder / "missing").ok());
}

TEST_CASE("published keys are switched in one step, as a mounted volume does it") {
  namespace fs = std::filesystem;
  const TemporaryFolder folder;
  BoxRecord record = new_record(BoxName::parse("demo").value());
  record.keys = {sample::key(std::string(sample::kKey) + " anna")};
  REQUIRE(publish_keys(folder.path(), record).ok());
  CHECK(text_of(folder / "authorized_keys") == std::string(sample::kKey) + " anna\n");
  CHECK(text_of(folder / "generation") == "1\n");
  CHECK(text_of(folder / "revoked").empty());
  CHECK(fs::read_symlink(folder / "authorized_keys") == "..data/authorized_keys");
  const fs::path before = fs::read_symlink(folder / "..data");
  CHECK(text_of(folder / "box_name") == "demo\n");
  CHECK(text_of(folder / "user_ca").empty());
  record.keys = {sample::key(sample::kOtherKey)};
  record.revoked = {sample::key(sample::kKey)};
  record.revoked_serials = {7};
  record.spec.authorities = {sample::key(std::string(sample::kOtherKey) + " ca")};
  record.generation = 2;
  REQUIRE(publish_keys(folder.path(), record).ok());
  CHECK(text_of(folder / "user_ca") == std::string(sample::kOtherKey) + " ca\n");
  CHECK(text_of(folder / "authorized_keys") == std::string(sample::kOtherKey) + "\n");
  CHECK(text_of(folder / "generation") == "2\n");
  CHECK(text_of(folder / "revoked") ==
        sample::key(sample::kKey).key.fingerprint() + "\nserial:7\n");
  CHECK(fs::read_symlink(folder / "..data") != before);
  CHECK_FALSE(fs::exists(folder.path() / before));

  // What somebody locked out by hand stays locked out.
  folder.write("..data/revoked", "\xef\xbb\xbfid:bob \r\n\n# why\nserial:9\nserial:7\n");
  record.revoked_prints = {sample::key(sample::kOtherKey).key.fingerprint()};
  REQUIRE(publish_keys(folder.path(), record).ok());
  REQUIRE(publish_keys(folder.path(), record).ok());
  CHECK(text_of(folder / "revoked") == sample::key(sample::kKey).key.fingerprint() + "\n" +
                                           sample::key(sample::kOtherKey).key.fingerprint() +
                                           "\nserial:7\nid:bob\nserial:9\n");
}
