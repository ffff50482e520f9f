// pure: the file of create -f.
#include "provision/spec_file.h"

#include "support/catch.h"

using namespace agentbox::provision;

TEST_CASE("a spec with every key") {
  const auto file =
      parse_spec_file("keys: [a.pub, b.pub]\nidentity: id\nworkspace: /w\nisolation: none\n");
  REQUIRE(file.ok());
  CHECK(file->keys == std::vector<std::string>{"a.pub", "b.pub"});
  CHECK(file->identity == "id");
  CHECK(file->workspace == "/w");
  CHECK(file->isolation == "none");
}

TEST_CASE("an empty spec is a box as it comes") {
  const auto file = parse_spec_file("");
  REQUIRE(file.ok());
  CHECK(file->keys.empty());
  CHECK(file->isolation == "bubblewrap");
}

TEST_CASE("a misspelt key and an unknown value are errors, not defaults") {
  CHECK_FALSE(parse_spec_file("isolaton: none\n").ok());
  CHECK_FALSE(parse_spec_file("isolation: off\n").ok());
  CHECK_FALSE(parse_spec_file("keys: one.pub: x\n").ok());
  CHECK_FALSE(parse_spec_file("- a\n").ok());
}
