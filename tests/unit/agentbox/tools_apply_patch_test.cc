// edge: apply_patch as it is called: several files, all of them or none.
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "support/catch.h"
#include "unit/agentbox/tool_fixture.h"

using namespace agentbox;
using namespace agentbox::mcp;
using namespace agentbox::test;

namespace {

struct Patcher : ToolFixture {
  OrderedJson apply(const std::string& patch, OrderedJson more = OrderedJson::object()) {
    more["patch"] = patch;
    return structured(apply_patch_tool(), dump_json(more));
  }
  std::string refused(const std::string& patch, OrderedJson more = OrderedJson::object()) {
    more["patch"] = patch;
    return code(apply_patch_tool(), dump_json(more));
  }
};

bool exists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

const std::string kOfCodex =
    "*** Begin Patch\n*** Add File: new/a\n+one\n*** Update File: b\n*** Move to: "
    "c\n@@\n-old\n+new\n"
    "*** Delete File: d\n*** End Patch\n";

}  // namespace

TEST_CASE("a patch of Codex changes all its files") {
  Patcher box;
  put_file(box.at("b"), "old\n", 0755);
  put_file(box.at("d"), "gone\n");
  const auto said = box.apply(kOfCodex);
  CHECK(said.at("applied") == true);
  const auto& files = said.at("files");
  REQUIRE(files.size() == 3);
  CHECK(files.at(0).at("action") == "added");
  CHECK(files.at(0).at("sha256") == sha256_hex("one\n"));
  CHECK(files.at(1).at("action") == "moved");
  CHECK(files.at(1).at("destination") == box.at("c"));
  CHECK(files.at(2).at("action") == "deleted");
  CHECK(file_content(box.at("new/a")) == "one\n");
  CHECK(file_content(box.at("c")) == "new\n");
  CHECK(mode_of(box.at("c")) == 0755);
  CHECK_FALSE(exists(box.at("b")));
  CHECK_FALSE(exists(box.at("d")));
}

TEST_CASE("a patch whose last file fails changes none") {
  Patcher box;
  put_file(box.at("b"), "old\n");
  CHECK(box.refused(kOfCodex) == "ENOENT");
  CHECK(file_content(box.at("b")) == "old\n");
  CHECK_FALSE(exists(box.at("new")));
  put_file(box.at("d"), "gone\n");
  put_file(box.at("b"), "other\n");
  CHECK(box.refused(kOfCodex) == "HUNK_FAILED");
  put_file(box.at("b"), "old\n");
  put_file(box.at("c"), "in the way\n");
  CHECK(box.refused(kOfCodex) == "EEXIST");
  CHECK(file_content(box.at("d")) == "gone\n");
}

TEST_CASE("a unified patch is applied below base_dir, with its modes") {
  Patcher box;
  put_file(box.at("p/x"), "a\nb\nc\n");
  put_file(box.at("p/d"), "gone\n");
  const std::string patch =
      "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n--- a/x\n+++ b/x\n@@ -2 +2 "
      "@@\n-b\n+B\n"
      "--- a/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"
      "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+n\n";
  CHECK(box.apply(patch, {{"base_dir", "p"}, {"dry_run", true}}).at("applied") == false);
  CHECK(file_content(box.at("p/x")) == "a\nb\nc\n");
  CHECK(box.refused(patch, {{"base_dir", "p"}, {"if_sha256", {{"x", std::string(64, '0')}}}}) ==
        "PRECONDITION_FAILED");
  CHECK(box.refused(patch, {{"base_dir", "p"}, {"if_sha256", {{"y", std::string(64, '0')}}}}) ==
        "INVALID_ARGUMENT");
  box.apply(patch, {{"base_dir", "p"}, {"if_sha256", {{"x", sha256_hex("a\nb\nc\n")}}}});
  CHECK(file_content(box.at("p/x")) == "a\nB\nc\n");
  CHECK(mode_of(box.at("p/x")) == 0755);
  CHECK_FALSE(exists(box.at("p/d")));
  CHECK(file_content(box.at("p/n")) == "n\n");
}

TEST_CASE("a patch reaches nothing outside, and deletes no more than it shows") {
  Patcher box;
  TemporaryFolder outside;
  put_file(outside.at("f"), "theirs\n");
  REQUIRE(::symlink(outside.path().c_str(), box.at("out").c_str()) == 0);
  const auto update = [](const std::string& path) {
    return "*** Begin Patch\n*** Update File: " + path + "\n-theirs\n+ours\n*** End Patch\n";
  };
  CHECK(box.refused(update("out/f")) == "ESCAPE");
  CHECK(box.refused(update(outside.at("f"))) == "ESCAPE");
  CHECK(box.refused(update("../x")) == "ESCAPE");
  CHECK(file_content(outside.at("f")) == "theirs\n");
  put_file(box.at("d"), "one\ntwo\n");
  CHECK(box.refused("--- a/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n") == "HUNK_FAILED");
  CHECK(box.refused("nonsense") == "PATCH_PARSE");
  CHECK(file_content(box.at("d")) == "one\ntwo\n");
}

TEST_CASE("one file patched twice in a patch sees its first change") {
  Patcher box;
  put_file(box.at("f"), "a\n");
  box.apply("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-b\n+c\n");
  CHECK(file_content(box.at("f")) == "c\n");
}
