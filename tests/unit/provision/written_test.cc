// pure: tests of provision/written.h.
#include "provision/written.h"

#include "support/catch.h"

using agentbox::provision::first_difference;
using agentbox::provision::first_missing;

TEST_CASE("the first line that is not what was written is named") {
  CHECK(first_difference("", "").empty());
  CHECK(first_difference("a\nb\n", "a\nb\n").empty());
  CHECK(first_difference("a\nb\n", "a\nc\n") == R"(line 2 is "c"; written was "b")");
  CHECK(first_difference("a\n", "a\nb\n") == R"(line 2 was added: "b")");
  CHECK(first_difference("a\nb\n", "a\n") == R"(line 2 is missing: "b")");
  CHECK(first_difference("a\n", "a") == R"(line 1 is "a" without an end; written was "a")");
  CHECK(first_difference("", "\n") == R"(line 1 was added: "")");
}

TEST_CASE("a revocation that is not there is named, and one more is none of ours") {
  CHECK(first_missing("a\nb\n", "x\nb\na\n").empty());
  CHECK(first_missing("", "x\n").empty());
  CHECK(first_missing("a\nb\n", "a\n") == R"(it lacks "b")");
}

TEST_CASE("what the operator may set counts for nothing") {
  CHECK(first_difference("a\nb\n", "a\nmine: 1\nb\n", "mine:").empty());
  CHECK_FALSE(first_difference("a\nb\n", "a\nmine: 1\nb\n").empty());
}
