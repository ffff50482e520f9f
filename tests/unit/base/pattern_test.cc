// pure: patterns: what matches, what is refused, and that no text takes long.
#include "base/pattern.h"

#include <string>

#include "support/catch.h"

using namespace agentbox;

namespace {

bool matches(std::string_view pattern, std::string_view text, const PatternOptions& options = {}) {
  const auto compiled = Pattern::compile(pattern, options);
  REQUIRE(compiled.ok());
  return compiled->found_in(text);
}

}  // namespace

TEST_CASE("a pattern is looked for anywhere in the text") {
  CHECK(matches("b+", "abbc"));
  CHECK_FALSE(matches("^b", "abbc"));
  CHECK(matches("", "x"));
  CHECK(matches("\xc3\xa9", "caf\xc3\xa9"));
  CHECK(matches("x", "\xff\xfex"));
}

TEST_CASE("options change how a pattern is read") {
  CHECK(matches("a.c", "xa.c", {.literal = true}));
  CHECK_FALSE(matches("a.c", "abc", {.literal = true}));
  CHECK(matches("ABC", "xabc", {.ignore_case = true}));
  CHECK_FALSE(matches("^b$", "a\nb\nc"));
  CHECK(matches("^b$", "a\nb\nc", {.multi_line = true}));
  CHECK_FALSE(matches("a.b", "a\nb"));
  CHECK(matches("a.b", "a\nb", {.dot_newline = true}));
}

TEST_CASE("what is no expression, or a huge one, is refused with a reason") {
  for (const char* const bad : {"(", "[", "a**", "(?=x)", "(a)\\1", "\xff"}) {
    CAPTURE(bad);
    const auto compiled = Pattern::compile(bad);
    REQUIRE(!compiled.ok());
    CHECK(compiled.error().code == Code::kInvalid);
    CHECK(!compiled.error().what.empty());
  }
  CHECK_FALSE(Pattern::compile("((((a{100}){100}){100}){100})").ok());
}

TEST_CASE("a pattern that others take exponential time for takes none here") {
  const std::string text(100'000, 'a');
  CHECK_FALSE(matches("(a*)*(a*)*(a*)*b", text));
  CHECK_FALSE(matches("(a|aa)+$b", text));
}
