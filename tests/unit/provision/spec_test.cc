// edge: what a box shall be, from flags and file.
#include "provision/spec.h"

#include <filesystem>
#include <string>

#include "provision/keys.h"
#include "sample.h"
#include "support/catch.h"
#include "temporary_folder.h"

using namespace agentbox;
using namespace agentbox::provision;
using sample::TemporaryFolder;

TEST_CASE("keys of several files are joined, and none counts twice") {
  const TemporaryFolder folder;
  CreateOptions options;
  options.key_files = {folder.write("a.pub", sample::kKey),
                       folder.write("b.pub", std::string(sample::kOtherKey) + "\n" + sample::kKey)};
  const auto wanted = read_wanted_box(options);
  REQUIRE(wanted.ok());
  CHECK(wanted->spec.keys.size() == 2);
  CHECK(wanted->keys.size() == 2);
}

TEST_CASE("the identity's public half may enter and is no key of the spec") {
  const TemporaryFolder folder;
  const auto pair = generate_ed25519();
  REQUIRE(pair.ok());
  CreateOptions options;
  options.identity_file = folder.write("id", pair->private_key.reveal());
  const auto wanted = read_wanted_box(options);
  REQUIRE(wanted.ok());
  CHECK(wanted->spec.keys.empty());
  REQUIRE(wanted->keys.size() == 1);
  CHECK(wanted->keys[0].key.blob() == pair->public_key.blob());
}

TEST_CASE("paths in a file are seen from its folder, and flags win over it") {
  const TemporaryFolder folder;
  folder.write("a.pub", sample::kKey);
  std::filesystem::create_directory(folder / "work");
  std::filesystem::create_directory(folder / "other");
  CreateOptions options;
  options.spec_file =
      folder.write("spec.yaml", "keys: [a.pub]\nworkspace: work\nisolation: none\n");
  auto wanted = read_wanted_box(options);
  REQUIRE(wanted.ok());
  CHECK(wanted->spec.keys.size() == 1);
  CHECK(wanted->spec.workspace == std::filesystem::canonical(folder / "work"));
  CHECK(wanted->spec.isolation == Isolation::kNone);
  options.workspace = folder / "other";
  wanted = read_wanted_box(options);
  REQUIRE(wanted.ok());
  CHECK(wanted->spec.workspace == std::filesystem::canonical(folder / "other"));
}

TEST_CASE("a workspace that is no folder, and a broken file, are refused") {
  const TemporaryFolder folder;
  CreateOptions options;
  options.workspace = folder.write("file", "");
  CHECK(read_wanted_box(options).error().exit == Exit::kRefused);
  options.workspace = folder / "missing";
  CHECK(read_wanted_box(options).error().exit == Exit::kRefused);
  options = CreateOptions{};
  options.spec_file = folder.write("spec.yaml", "kezs: []\n");
  const auto wanted = read_wanted_box(options);
  REQUIRE_FALSE(wanted.ok());
  CHECK(wanted.error().exit == Exit::kUsage);
  CHECK(wanted.error().message.find("line 1") != std::string::npos);
}
