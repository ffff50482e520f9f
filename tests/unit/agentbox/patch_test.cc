// pure: patches of both kinds: what is read, where hunks go, which bytes stay.
#include "agentbox/patch.h"

#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::mcp;

namespace {

// CONTENT after the first file of PATCH, or the error's code.
std::string patched(std::string_view content, std::string_view patch, std::size_t fuzz = 0) {
  const auto parsed = parse_patch(patch, PatchFormat::kAuto, -1);
  if (!parsed.ok()) {
    return parsed.error().code + " " + dump_json(parsed.error().details);
  }
  const auto result = apply_hunks(content, parsed->files.at(0), parsed->unified, fuzz);
  return result.ok() ? result->text : result.error().code;
}

std::string codex(std::string_view content, const std::string& hunks) {
  return patched(content, "*** Begin Patch\n*** Update File: f\n" + hunks + "*** End Patch\n");
}

std::string unified(std::string_view content, const std::string& hunks, std::size_t fuzz = 0) {
  return patched(content, "--- a/f\n+++ b/f\n" + hunks, fuzz);
}

FilePatch first_of(std::string_view patch, int strip = -1) {
  auto parsed = parse_patch(patch, PatchFormat::kAuto, strip);
  REQUIRE(parsed.ok());
  return parsed->files.at(0);
}

std::string refused(std::string_view patch) {
  const auto parsed = parse_patch(patch, PatchFormat::kAuto, -1);
  return parsed.ok() ? "" : parsed.error().code + dump_json(parsed.error().details);
}

}  // namespace

TEST_CASE("a patch of Codex adds, updates, moves and deletes") {
  const auto patch = parse_patch(
      "*** Begin Patch\n*** Add File: a/b\n+one\n+\n*** Update File: c\n*** Move to: d\n@@ "
      "x\n-1\n+2\n"
      "*** Delete File: e\n*** End Patch\n",
      PatchFormat::kAuto, -1);
  REQUIRE(patch.ok());
  REQUIRE(patch->files.size() == 3);
  CHECK_FALSE(patch->unified);
  CHECK(patch->files[0].action == PatchAction::kAdd);
  CHECK(patch->files[0].path == "a/b");
  CHECK(apply_hunks("", patch->files[0], false, 0)->text == "one\n\n");
  CHECK(patch->files[1].destination == "d");
  CHECK(patch->files[1].hunks.at(0).headers.at(0) == "x");
  CHECK(patch->files[2].action == PatchAction::kDelete);
}

TEST_CASE("a hunk of Codex goes to the only place, or to the first after its headers") {
  CHECK(codex("a\nb\nc\n", "@@\n a\n-b\n+B\n c\n") == "a\nB\nc\n");
  CHECK(codex("a\nb\nc\n", "-b\n+B\n") == "a\nB\nc\n");
  CHECK(codex("x\nf\nx\n", "-x\n+y\n") == "AMBIGUOUS");
  CHECK(codex("x\nf\nx\n", "@@ f\n-x\n+y\n") == "x\nf\ny\n");
  CHECK(codex("f\n  g\nx\n  g\n x\n", "@@ f\n@@ g\n-x\n+y\n") == "f\n  g\ny\n  g\n x\n");
  CHECK(codex("x\nf\nx\n", "@@\n-x\n+y\n*** End of File\n") == "x\nf\ny\n");
  CHECK(codex("x\nf\n", "@@\n-x\n+y\n*** End of File\n") == "HUNK_FAILED");
  CHECK(codex("a\n", "@@ nope\n-a\n+b\n") == "HUNK_FAILED");
  CHECK(codex("a\n", "-nope\n+b\n") == "HUNK_FAILED");
  CHECK(codex("a\nb\n", "+c\n") == "a\nb\nc\n");
  CHECK(codex("a\nb\n", "@@ a\n+c\n") == "a\nc\nb\n");
  CHECK(codex("a\nb\nc\n", "-a\n+A\n@@\n-c\n+C\n") == "A\nb\nC\n");
}

TEST_CASE("a unified hunk goes where it says, or to the nearest place") {
  CHECK(unified("a\nb\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n") == "a\nB\nc\n");
  CHECK(unified("0\n0\na\nb\nc\n", "@@ -1,3 +1,3 @@ f()\n a\n-b\n+B\n c\n") == "0\n0\na\nB\nc\n");
  CHECK(unified("x\n1\nx\n", "@@ -2 +2 @@\n-x\n+y\n") == "AMBIGUOUS");
  CHECK(unified("x\n1\nx\n", "@@ -3 +3 @@\n-x\n+y\n") == "x\n1\ny\n");
  CHECK(unified("a\nb\n", "@@ -1,0 +2 @@\n+c\n") == "a\nc\nb\n");
  CHECK(unified("a\nb\n", "@@ -0,0 +1 @@\n+c\n") == "c\na\nb\n");
  CHECK(unified("a\n", "@@ -1 +1 @@\n-b\n+c\n") == "HUNK_FAILED");
  CHECK(unified("a\n", "@@ -999999999 +1 @@\n-a\n+c\n") == "c\n");
  // What the first hunk adds, and how far it was off, moves the others.
  CHECK(unified("0\na\nb\nx\nx\nx\n", "@@ -1 +1,2 @@\n-a\n+A\n+A\n@@ -4 +5 @@\n-x\n+y\n") ==
        "0\nA\nA\nb\nx\ny\nx\n");
  const auto patch = first_of("--- f\n+++ f\n@@ -1 +1 @@\n-x\n+y\n");
  CHECK(apply_hunks("1\n2\nx\n", patch, true, 0)->offset_lines == 2);
}

TEST_CASE("context at the ends of a unified hunk may differ where fuzz allows it") {
  const std::string hunk = "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n";
  CHECK(unified("x\nb\ny\n", hunk) == "HUNK_FAILED");
  CHECK(unified("x\nb\ny\n", hunk, 1) == "x\nB\ny\n");
  CHECK(unified("x\nz\ny\n", hunk, 3) == "HUNK_FAILED");
}

TEST_CASE("line ends stay as they are, and new lines end as those around them") {
  CHECK(unified("a\r\nb\nc\r\n", "@@ -1,3 +1,4 @@\n a\n-b\n+B\n+B2\n c\n") ==
        "a\r\nB\r\nB2\r\nc\r\n");
  CHECK(codex("a\r\nb\r\n", " a\n-b\n+B\n") == "a\r\nB\r\n");
  CHECK(codex("a\nb\r\nc\n", " a\n+n\n b\n") == "a\nn\r\nb\r\nc\n");
  CHECK(unified("a\r\n", "@@ -1 +1 @@\r\n-a\r\n+b\r\n") == "b\r\n");
}

TEST_CASE("a file without a newline at its end keeps that unless the patch says otherwise") {
  CHECK(codex("a\nb", "-b\n+B\n") == "a\nB");
  CHECK(codex("a\nb", "-a\n+A\n") == "A\nb");
  CHECK(codex("a\nb", " b\n+c\n") == "a\nb\nc");
  CHECK(codex("a\r\nb", " b\n+c\n") == "a\r\nb\r\nc");
  CHECK(unified("a", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n") == "b\n");
  CHECK(unified("a\n", "@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n") == "b");
  CHECK(unified("a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n") == "HUNK_FAILED");
}

TEST_CASE("names are taken as diff and git write them") {
  CHECK(first_of("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n").path == "x");
  CHECK(first_of("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", 0).destination == "b/x");
  CHECK(first_of("--- p/q/x\n+++ p/q/x\n@@ -1 +1 @@\n-a\n+b\n", 2).path == "x");
  CHECK(first_of("--- x.orig\t2026-01-01\n+++ x\t2026-01-02\n@@ -1 +1 @@\n-a\n+b\n").path == "x");
  CHECK(first_of("--- \"a/t\\303\\244\"\n+++ \"b/t\\303\\244\"\n@@ -1 +1 @@\n-a\n+b\n").path ==
        "t\xc3\xa4");
  const auto added = first_of(
      "diff --git a/n b/n\nnew file mode 100755\nindex 0..1\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 "
      "@@\n+x\n");
  CHECK(added.action == PatchAction::kAdd);
  CHECK(added.mode == 0755U);
  CHECK(first_of("diff --git a/e b/e\nnew file mode 100644\nindex 0..1\n").path == "e");
  CHECK(first_of("--- a/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n").action == PatchAction::kDelete);
  const auto moved =
      first_of("diff --git a/o b/p\nsimilarity index 100%\nrename from o\nrename to p\n");
  CHECK(moved.path == "o");
  CHECK(moved.destination == "p");
}

TEST_CASE("what is no patch is refused with its line") {
  CHECK(refused("") == R"(PATCH_PARSE{"line":1})");
  CHECK(refused("hello\n") == R"(PATCH_PARSE{"line":1})");
  CHECK(refused("*** Begin Patch\n*** Update File: a\n-x\n") == R"(PATCH_PARSE{"line":4})");
  CHECK(refused("*** Begin Patch\nx\n*** End Patch\n") == R"(PATCH_PARSE{"line":2})");
  CHECK(refused("*** Begin Patch\n*** Update File: a\nx\n*** End Patch\n") ==
        R"(PATCH_PARSE{"line":3})");
  CHECK(refused("*** Begin Patch\n*** Update File: a\n*** End Patch\n") ==
        R"(PATCH_PARSE{"line":2})");
  CHECK(refused("*** Begin Patch\n*** End Patch\nx\n") == R"(PATCH_PARSE{"line":3})");
  CHECK(refused("--- a\n@@ -1 +1 @@\n-a\n+b\n") == R"(PATCH_PARSE{"line":2})");
  CHECK(refused("--- a\n+++ a\n@@ -1,2 +1 @@\n-a\n+b\n") == R"(PATCH_PARSE{"line":3})");
  CHECK(refused("--- a\n+++ a\n@@ -1 +1 @@\n+b\n+b\n") == R"(PATCH_PARSE{"line":5})");
  CHECK(refused("--- a\n+++ a\n@@ -x +1 @@\n-a\n") == R"(PATCH_PARSE{"line":3})");
  CHECK(refused("diff --git a/x b/x\nGIT binary patch\n") == R"(PATCH_PARSE{"line":2})");
  CHECK(refused("diff --git a/x b/x\nnew file mode 120000\n") == R"(PATCH_PARSE{"line":2})");
}
