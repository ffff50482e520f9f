// edge: edit_file, called as the server does.
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "support/catch.h"
#include "unit/agentbox/tool_fixture.h"

using namespace agentbox;
using namespace agentbox::mcp;
using namespace agentbox::test;

TEST_CASE("an edit is on disk, and the answer shows it") {
  ToolFixture box;
  put_file(box.at("f.txt"), "one\ntwo\n");
  const auto json =
      box.structured(edit_file_tool(), R"({"path":"f.txt","old_string":"two","new_string":"2"})");
  CHECK(file_content(box.at("f.txt")) == "one\n2\n");
  CHECK(json["replacements"] == 1);
  CHECK(json["diff"] == "--- a/f.txt\n+++ b/f.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n");
  CHECK(json["sha256"] == sha256_hex("one\n2\n"));
  CHECK(json["previous_sha256"] == sha256_hex("one\ntwo\n"));
  CHECK(json["size"] == 6);
  CHECK(json["dry_run"] == false);
}

TEST_CASE("a dry run shows the bytes of the real one and writes nothing") {
  ToolFixture box;
  put_file(box.at("f"), "a\r\nb\r\nc\r\n");
  const std::string words = R"("path":"f","old_string":"a\nb","new_string":"a\nB1\nB2")";
  const auto dry = box.structured(edit_file_tool(), "{" + words + R"(,"dry_run":true})");
  CHECK(file_content(box.at("f")) == "a\r\nb\r\nc\r\n");
  const auto real = box.structured(edit_file_tool(), "{" + words + "}");
  CHECK(file_content(box.at("f")) == "a\r\nB1\r\nB2\r\nc\r\n");
  CHECK(dry["sha256"] == real["sha256"]);
  CHECK(dry["diff"] == real["diff"]);
}

TEST_CASE("an edit keeps mode bits, and every name of the file") {
  ToolFixture box;
  put_file(box.at("run.sh"), "echo one\n");
  REQUIRE(::chmod(box.at("run.sh").c_str(), 02750) == 0);
  REQUIRE(::link(box.at("run.sh").c_str(), box.at("other").c_str()) == 0);
  (void)box.structured(edit_file_tool(),
                       R"({"path":"run.sh","old_string":"one","new_string":"two"})");
  CHECK(mode_of(box.at("run.sh")) == 02750);
  CHECK(file_content(box.at("other")) == "echo two\n");
}

TEST_CASE("several edits are all made or none") {
  ToolFixture box;
  put_file(box.at("f"), "a b c");
  CHECK(box.code(edit_file_tool(),
                 R"({"path":"f","edits":[{"old_string":"a","new_string":"1"},
                    {"old_string":"x","new_string":"2"}]})") == "NOT_FOUND_TEXT");
  CHECK(file_content(box.at("f")) == "a b c");
  (void)box.structured(edit_file_tool(),
                       R"({"path":"f","edits":[{"oldText":"a","newText":"1"},
                          {"old_string":"c","new_string":"3"}]})");
  CHECK(file_content(box.at("f")) == "1 b 3");
}

TEST_CASE("an empty old text makes a file, and never replaces one") {
  ToolFixture box;
  const std::string make = R"({"path":"new","old_string":"","new_string":"hello\n"})";
  CHECK(box.structured(edit_file_tool(), make)["created"] == true);
  CHECK(file_content(box.at("new")) == "hello\n");
  CHECK(box.code(edit_file_tool(), make) == "INVALID_ARGUMENT");
  CHECK(file_content(box.at("new")) == "hello\n");
}

TEST_CASE("an edit of what was not read is refused") {
  ToolFixture box;
  put_file(box.at("f"), "a");
  CHECK(
      box.code(edit_file_tool(), R"({"path":"f","old_string":"a","new_string":"b","if_sha256":")" +
                                     sha256_hex("other") + "\"}") == "PRECONDITION_FAILED");
  CHECK(file_content(box.at("f")) == "a");
}

TEST_CASE("what is no text, or not inside, is not edited") {
  ToolFixture box;
  put_file(box.at("binary"), std::string("a\0b", 3));
  CHECK(box.code(edit_file_tool(), R"({"path":"binary","old_string":"a","new_string":"b"})") ==
        "NOT_TEXT");
  REQUIRE(::symlink("/etc/hostname", box.at("out").c_str()) == 0);
  CHECK(box.code(edit_file_tool(), R"({"path":"out","old_string":"a","new_string":"b"})") ==
        "ESCAPE");
  CHECK(box.code(edit_file_tool(), R"({"path":"none","old_string":"a","new_string":"b"})") ==
        "ENOENT");
}

TEST_CASE("the two forms of an edit do not mix") {
  ToolFixture box;
  put_file(box.at("f"), "a");
  for (
      const char* words :
      {R"({"path":"f"})", R"({"path":"f","old_string":"a"})",
       R"({"path":"f","old_string":"a","new_string":"b","edits":[{"old_string":"a","new_string":"b"}]})",
       R"({"path":"f","edits":[]})", R"({"path":"f","edits":[{"old_string":"a"}]})"}) {
    CHECK(box.code(edit_file_tool(), words) == "INVALID_ARGUMENT");
  }
}
