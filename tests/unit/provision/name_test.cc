// pure: the grammar of names.
#include "provision/name.h"

#include <string>

#include "support/catch.h"

using agentbox::provision::BoxName;

TEST_CASE("names that a box may have") {
  for (const std::string name : {"a", "demo", "a1", "a-b", "a--b", "build-2026-01"}) {
    CAPTURE(name);
    CHECK(BoxName::parse(name).ok());
  }
  CHECK(BoxName::parse(std::string(52, 'a')).ok());
}

TEST_CASE("names that no box may have") {
  for (const std::string name : {"", "-", "-a", "a-", "1a", "A", "aB", "a_b", "a.b", "a/b", "..",
                                 "a b", "a\n", "\xc3\xa4"}) {
    CAPTURE(name);
    CHECK_FALSE(BoxName::parse(name).ok());
  }
  CHECK_FALSE(BoxName::parse(std::string(53, 'a')).ok());
  CHECK_FALSE(BoxName::parse(std::string("a\0b", 3)).ok());
}
