// pure: which paths a pattern and which a .gitignore means.
#include "agentbox/glob.h"

#include <string>

#include "agentbox/ignore_rules.h"
#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::mcp;

namespace {

bool matches(std::string_view pattern, std::string_view path) {
  const auto glob = Glob::compile(pattern);
  REQUIRE(glob.ok());
  return glob->matches(path);
}

}  // namespace

TEST_CASE("a star takes any characters of one name, a question mark one") {
  CHECK(matches("*.cc", "a.cc"));
  CHECK(matches("*.cc", ".cc"));
  CHECK_FALSE(matches("*.cc", "d/a.cc"));
  CHECK_FALSE(matches("*.cc", "a.ccx"));
  CHECK(matches("a*b*c", "aXbYbZc"));
  CHECK_FALSE(matches("a*b*c", "aXc"));
  CHECK(matches("?", "\xe2\x82\xac"));
  CHECK(matches("?", "\xff"));
  CHECK_FALSE(matches("?", "ab"));
  CHECK_FALSE(matches("?", ""));
  CHECK(matches("d/*", "d/x"));
  CHECK(matches("./d//x", "d/x"));
}

TEST_CASE("two stars take any number of folders, at the end at least one name") {
  CHECK(matches("**", "a"));
  CHECK(matches("**", "a/b/c"));
  CHECK(matches("**/*.cc", "a.cc"));
  CHECK(matches("**/*.cc", "x/y/a.cc"));
  CHECK(matches("src/**/*.cc", "src/a.cc"));
  CHECK(matches("src/**/*.cc", "src/x/y/a.cc"));
  CHECK_FALSE(matches("src/**/*.cc", "lib/src/a.cc"));
  CHECK(matches("src/**", "src/a"));
  CHECK(matches("src/**", "src/a/b"));
  CHECK_FALSE(matches("src/**", "src"));
  CHECK(matches("a/**/b/**/c", "a/x/b/b/y/c"));
  CHECK_FALSE(matches("a/**/b/**/c", "a/x/y/c"));
  CHECK(matches("a**b", "aXb"));
  CHECK_FALSE(matches("a**b", "a/b"));
}

TEST_CASE("classes, braces and escapes") {
  CHECK(matches("[a-c]x", "bx"));
  CHECK_FALSE(matches("[a-c]x", "dx"));
  CHECK(matches("[!a-c]x", "dx"));
  CHECK(matches("[^a]", "b"));
  CHECK(matches("[]]", "]"));
  CHECK(matches("[a-]", "-"));
  CHECK(matches("[\xc3\xa0-\xc3\xbf]", "\xc3\xa9"));
  CHECK_FALSE(matches("[!a]", "/"));
  CHECK(matches("*.{cc,h}", "a.h"));
  CHECK(matches("{a,b{c,d}}/x", "bd/x"));
  CHECK_FALSE(matches("{a,b{c,d}}/x", "b/x"));
  CHECK(matches("a{,.bak}", "a"));
  CHECK(matches("\\*", "*"));
  CHECK_FALSE(matches("\\*", "a"));
  CHECK(matches("\\{a", "{a"));
}

TEST_CASE("what is no pattern is refused with a reason") {
  for (const std::string bad : {"", "[a", "{a,b", "[!", "{a,{b}"}) {
    CAPTURE(bad);
    CHECK_FALSE(Glob::compile(bad).ok());
  }
  std::string many;
  for (int i = 0; i < 8; ++i) {
    many += "{a,b}";
  }
  CHECK_FALSE(Glob::compile(many).ok());
}

TEST_CASE("no pattern takes long on any path") {
  const std::string names(4000, 'a');
  CHECK_FALSE(matches("*a*a*a*a*a*a*a*a*a*a*a*a*b", names));
  std::string folders;
  for (int i = 0; i < 2000; ++i) {
    folders += "a/";
  }
  CHECK_FALSE(matches("**/a/**/a/**/a/**/a/**/b", folders + "c"));
}

TEST_CASE("a .gitignore is read as git reads it") {
  const IgnoreRules rules(
      "# a comment\n\n*.o\n!keep.o\n/only-here\nbuild/\nsub/dir\r\ntrailing  \n\\#hash\nlogs/**\n"
      "**/deep/*.tmp\na{b}c\n[broken\n");
  const auto ignored = [&](std::string_view path, bool folder = false) {
    return rules.ignores(path, folder).value_or(false);
  };
  CHECK(ignored("x.o"));
  CHECK(ignored("d/x.o"));
  CHECK_FALSE(ignored("d/keep.o"));
  CHECK(rules.ignores("d/keep.o", false) == std::optional(false));
  CHECK(rules.ignores("other", false) == std::nullopt);
  CHECK(ignored("only-here"));
  CHECK_FALSE(ignored("d/only-here"));
  CHECK(ignored("build", true));
  CHECK(ignored("d/build", true));
  CHECK_FALSE(ignored("build", false));
  CHECK(ignored("sub/dir"));
  CHECK_FALSE(ignored("d/sub/dir"));
  CHECK(ignored("trailing"));
  CHECK(ignored("#hash"));
  CHECK(ignored("logs/x/y"));
  CHECK_FALSE(ignored("logs", true));
  CHECK(ignored("x/deep/y.tmp"));
  CHECK(ignored("a{b}c"));
  CHECK_FALSE(ignored("abc"));
}

TEST_CASE("a .gitignore has a bounded number of rules") {
  std::string text;
  for (std::size_t i = 0; i < kMaxIgnoreRules; ++i) {
    text += "n" + std::to_string(i) + "\n";
  }
  const IgnoreRules rules(text + "too-many\n");
  CHECK(rules.ignores("n0", false) == std::optional(true));
  CHECK(rules.ignores("too-many", false) == std::nullopt);
}
