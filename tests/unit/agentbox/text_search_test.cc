// pure: matching lines, their context, and texts that arrive in windows of any size.
#include "agentbox/text_search.h"

#include <algorithm>

#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::mcp;

namespace {

// TEXT searched in windows that grow by STEP bytes, as a reader of files makes them.
std::vector<LineMatch> search(const std::string& text, std::string_view pattern, TextSearch wanted,
                              std::size_t step = 1U << 20U, std::size_t limit = 1000) {
  const auto compiled =
      Pattern::compile(pattern, {.multi_line = true, .dot_newline = wanted.multiline});
  REQUIRE(compiled.ok());
  wanted.pattern = &*compiled;
  TextSearcher searcher(wanted);
  std::vector<LineMatch> matches;
  std::string window;
  for (std::size_t at = 0;;) {
    const std::size_t more = std::min(step, text.size() - at);
    window.append(text, at, more);
    at += more;
    const bool last = at == text.size();
    window.erase(0, searcher.take(window, last, matches, limit));
    if (last) {
      return matches;
    }
  }
}

std::string shown(const std::vector<LineMatch>& matches) {
  std::string text;
  for (const LineMatch& match : matches) {
    for (const std::string& line : match.before) {
      text += "<" + line;
    }
    text += "[" + std::to_string(match.line) + ":" + std::to_string(match.column) + " " +
            match.text + "]";
    for (const std::string& line : match.after) {
      text += ">" + line;
    }
  }
  return text;
}

}  // namespace

TEST_CASE("each matching line is found once with its number and column") {
  CHECK(shown(search("one\ntwo two\nthree\n", "t", {})) == "[2:1 two two][3:1 three]");
  CHECK(shown(search("one", "e$", {})) == "[1:3 one]");
  CHECK(search("", "x*", {}).empty());
  CHECK(search("abc\n", "z", {}).empty());
}

TEST_CASE("anchors mean the line, and a class does not reach over its end") {
  CHECK(shown(search("ab\nb\n", "^b$", {})) == "[2:1 b]");
  CHECK(search("a\nb\n", "a\\sb", {}).empty());
  CHECK(shown(search("a\n\nb\n", "^$", {})) == "[2:1 ]");
}

TEST_CASE("a carriage return before a newline is no part of the line") {
  CHECK(shown(search("one\r\ntwo\r\n", "two", {.before = 1})) == "<one[2:1 two]");
}

TEST_CASE("lines around a match are shown as far as there are any") {
  const std::string text = "1\n2\n3\n4\n5\n";
  CHECK(shown(search(text, "3", {.before = 1, .after = 1})) == "<2[3:1 3]>4");
  CHECK(shown(search(text, "1", {.before = 3, .after = 1})) == "[1:1 1]>2");
  CHECK(shown(search(text, "5", {.before = 2, .after = 3})) == "<3<4[5:1 5]");
}

TEST_CASE("windows of any size give the same as the whole text") {
  std::string text;
  for (int i = 0; i < 60; ++i) {
    text += "line " + std::to_string(i) + (i % 7 == 0 ? " needle" : "") + "\n";
  }
  text += "the last needle";
  const TextSearch wanted{.before = 2, .after = 3};
  const std::string whole = shown(search(text, "needle", wanted));
  CHECK(whole.find("[61:10 the last needle]") != std::string::npos);
  for (const std::size_t step : {1U, 2U, 7U, 13U, 64U, 100U, 500U}) {
    CHECK(shown(search(text, "needle", wanted, step)) == whole);
  }
}

TEST_CASE("a match over several lines is shown whole where it may be one") {
  CHECK(shown(search("x\na {\n}\ny\n", "a \\{.*\\}", {.multiline = true})) == "[2:1 a {\n}]");
  CHECK(search("a {\n}\n", "a \\{.*\\}", {}).empty());
}

TEST_CASE("no more than the limit is taken") {
  CHECK(search("a\na\na\n", "a", {}, 100, 2).size() == 2);
}

TEST_CASE("of a long line the part around the match is shown") {
  const std::string line = std::string(1000, 'x') + "needle" + std::string(1000, 'y');
  const auto matches = search(line, "needle", {.max_line_bytes = 60});
  REQUIRE(matches.size() == 1);
  CHECK(matches[0].column == 1001);
  CHECK(matches[0].text.find("needle") != std::string::npos);
  CHECK(matches[0].text.size() <= 66);
  CHECK(matches[0].text.starts_with("...x"));
  CHECK(matches[0].text.ends_with("y..."));
}
