// pure: edits change what they name and not one byte more.
#include "agentbox/edit.h"

#include "agentbox/diff.h"
#include "support/catch.h"

using namespace agentbox::mcp;

namespace {

std::string edited(const std::string& content, const TextEdit& edit) {
  auto result = apply_edits(content, std::vector<TextEdit>{edit});
  INFO((result.ok() ? "" : result.error().message));
  REQUIRE(result.ok());
  return result->text;
}

ToolError refused(const std::string& content, const TextEdit& edit) {
  auto result = apply_edits(content, std::vector<TextEdit>{edit});
  REQUIRE(!result.ok());
  return result.error();
}

}  // namespace

TEST_CASE("an edit replaces the one place its old text stands at") {
  CHECK(edited("int a;\nint b;\n", {.old_text = "int b;", .new_text = "long b;"}) ==
        "int a;\nlong b;\n");
}

TEST_CASE("a replacement is taken literally") {
  CHECK(edited("x = 1", {.old_text = "1", .new_text = "$& $1 \\1 \\n %s"}) ==
        "x = $& $1 \\1 \\n %s");
}

TEST_CASE("a text that stands at several places is refused with their lines") {
  const ToolError error = refused("a\nb\na\n\na\n", {.old_text = "a", .new_text = "c"});
  CHECK(error.code == "AMBIGUOUS");
  CHECK(error.message == "old_string occurs 3 times (lines 1, 3, 5)");
}

TEST_CASE("replace_all and expected_count replace every place") {
  CHECK(edited("aXaXa", {.old_text = "a", .new_text = "b", .replace_all = true}) == "bXbXb");
  CHECK(edited("aXaXa", {.old_text = "a", .new_text = "b", .expected_count = 3}) == "bXbXb");
  const ToolError error = refused(
      "aXaXa", {.old_text = "a", .new_text = "b", .replace_all = true, .expected_count = 2});
  CHECK(error.code == "AMBIGUOUS");
  CHECK(error.message.ends_with("not 2 times"));
}

TEST_CASE("places that overlap are found from the left") {
  CHECK(edited("aaaa", {.old_text = "aa", .new_text = "a", .replace_all = true}) == "aa");
}

TEST_CASE("newlines of an edit match CRLF, and new lines get it") {
  CHECK(edited("a\r\nb\r\nc\r\n", {.old_text = "a\nb", .new_text = "a\nB1\nB2"}) ==
        "a\r\nB1\r\nB2\r\nc\r\n");
  CHECK(edited("one\r\ntwo\r\n", {.old_text = "two", .new_text = "two\nthree"}) ==
        "one\r\ntwo\r\nthree\r\n");
  CHECK(edited("one\r\ntwo", {.old_text = "two", .new_text = "two\nthree"}) ==
        "one\r\ntwo\r\nthree");
}

TEST_CASE("lines an edit leaves alone keep their own ends in a file of mixed ones") {
  CHECK(edited("a\r\nb\nc\r\nd\n", {.old_text = "a\nb\nc\n", .new_text = "a\nb\nX\nc\n"}) ==
        "a\r\nb\nX\r\nc\r\nd\n");
}

TEST_CASE("an exact match is taken before one with other line ends") {
  CHECK(edited("a\nb\r\na\r\nb\r\n", {.old_text = "a\nb", .new_text = "c\nd"}) ==
        "c\nd\r\na\r\nb\r\n");
}

TEST_CASE("an edit that names carriage returns means them") {
  CHECK(edited("a\r\nb\r\n", {.old_text = "a\r\nb\r\n", .new_text = "a\nb\n"}) == "a\nb\n");
  CHECK(refused("a\nb\n", {.old_text = "a\r\nb", .new_text = "c"}).code == "NOT_FOUND_TEXT");
}

TEST_CASE("a text that is missing only by white space or quotes is pointed at") {
  const ToolError spaces =
      refused("x\n  if (a) {\n    b();\n", {.old_text = "if (a) {\n\tb();", .new_text = "c"});
  CHECK(spaces.code == "NOT_FOUND_TEXT");
  CHECK(spaces.hint.starts_with("Lines 2 to 3 differ from it only in white space"));
  CHECK(refused("say \xe2\x80\x9chi\xe2\x80\x9d\n", {.old_text = "say \"hi\"", .new_text = "c"})
            .hint.starts_with("Line 1 differs"));
}

TEST_CASE("a text that is missing is answered with the line most like it") {
  const ToolError error =
      refused("alpha\nreturn count + 1;\n", {.old_text = "return counts + 1;", .new_text = "c"});
  CHECK(error.hint.starts_with("The line most like its first one is 2: \"return count + 1;\""));
  CHECK(refused("alpha\n", {.old_text = "zzz", .new_text = "c"}).hint.starts_with("No line"));
}

TEST_CASE("an edit that changes nothing, or has nothing to look for, is refused") {
  CHECK(refused("a", {.old_text = "a", .new_text = "a"}).code == "NO_CHANGE");
  CHECK(refused("a", {.old_text = "", .new_text = "b"}).code == "INVALID_ARGUMENT");
}

TEST_CASE("several edits are applied in order, and none where one fails") {
  auto both = apply_edits("a b", std::vector<TextEdit>{{.old_text = "a", .new_text = "b c"},
                                                       {.old_text = "c b", .new_text = "d"}});
  REQUIRE(both.ok());
  CHECK(both->text == "b d");
  CHECK(both->replacements == 2);
  auto failed = apply_edits("a b", std::vector<TextEdit>{{.old_text = "a", .new_text = "c"},
                                                         {.old_text = "a", .new_text = "d"}});
  REQUIRE(!failed.ok());
  CHECK(failed.error().message.starts_with("edit 2 of 2: "));
}

// The texts are small where there are many places: under AddressSanitizer a search costs the length
// of what is left for each.
TEST_CASE("edits that multiply a text are stopped before they fill memory") {
  const std::string piece(1UL << 16U, 'a');
  const std::vector<TextEdit> doubling(
      200, {.old_text = piece, .new_text = piece + piece, .replace_all = true});
  const auto often = apply_edits(piece, doubling);
  REQUIRE(!often.ok());
  CHECK(often.error().code == "TOO_LARGE");
  CHECK(refused(std::string(1 << 14, 'a'),
                {.old_text = "a", .new_text = std::string(1 << 20, 'b'), .replace_all = true})
            .code == "TOO_LARGE");
  CHECK(refused(std::string(1 << 14, '\n'),
                {.old_text = "\n", .new_text = std::string(1 << 14, '\n'), .replace_all = true})
            .code == "TOO_LARGE");
  const std::string most(kMaxEditedTextBytes - 1, 'a');
  CHECK(apply_edits("b" + most, std::vector<TextEdit>{{.old_text = "b", .new_text = "c"}}).ok());
  CHECK(refused("b" + most, {.old_text = "b", .new_text = "cc"}).code == "TOO_LARGE");
}

#ifndef __SANITIZE_ADDRESS__
TEST_CASE("more places than an edit may change are refused whole") {
  const auto refusal =
      refused(std::string(1'000'001, 'a'), {.old_text = "a", .new_text = "b", .replace_all = true});
  CHECK(refusal.code == "TOO_LARGE");
  CHECK(refusal.message.find("1000000") != std::string::npos);
}
#endif

TEST_CASE("many places in one long line are replaced in linear time") {
  std::string line;
  for (int i = 0; i < 50'000; ++i) {
    line += "ab,";
  }
  const auto spread = apply_edits(
      line, std::vector<TextEdit>{{.old_text = ",", .new_text = ",\n", .replace_all = true}});
  REQUIRE(spread.ok());
  CHECK(spread->replacements == 50'000);
  CHECK(spread->text.size() == line.size() + 50'000);
  const auto renamed = apply_edits(
      line, std::vector<TextEdit>{{.old_text = "ab", .new_text = "c", .replace_all = true}});
  REQUIRE(renamed.ok());
  CHECK(renamed->text.substr(0, 6) == "c,c,c,");
}

TEST_CASE("a difference is shown as diff -u shows it") {
  CHECK(unified_diff("a\nb\nc\nd\ne\n", "a\nb\nC\nd\ne\n", "f", 1000).text ==
        "--- a/f\n+++ b/f\n@@ -1,5 +1,5 @@\n a\n b\n-c\n+C\n d\n e\n");
  CHECK(unified_diff("", "new\n", "f", 1000).text == "--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+new\n");
  CHECK(unified_diff("a", "b", "f", 1000).text ==
        "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n"
        "\\ No newline at end of file\n");
  CHECK(unified_diff("same", "same", "f", 1000).text.empty());
}

TEST_CASE("changes far apart are hunks of their own") {
  std::string before;
  for (int i = 1; i <= 30; ++i) {
    before += "line " + std::to_string(i) + "\n";
  }
  std::string after = before;
  after.replace(after.find("line 3\n"), 6, "LINE 3");
  after.replace(after.find("line 25\n"), 7, "LINE 25");
  const std::string diff = unified_diff(before, after, "f", 10'000).text;
  CHECK(diff.find("@@ -1,6 +1,6 @@\n") != std::string::npos);
  CHECK(diff.find("@@ -22,7 +22,7 @@\n") != std::string::npos);
}

TEST_CASE("a long difference is cut between lines and says so") {
  std::string after;
  for (int i = 0; i < 5000; ++i) {
    after += "line " + std::to_string(i) + "\n";
  }
  const UnifiedDiff diff = unified_diff("old\n", after, "f", 1000);
  CHECK(diff.truncated);
  CHECK(diff.text.size() <= 1000);
  CHECK(diff.text.ends_with('\n'));
}
