// edge: apply_edits as it is called: what it takes, what it says, and all or none.
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "support/catch.h"
#include "unit/agentbox/tool_fixture.h"

using namespace agentbox;
using namespace agentbox::mcp;
using namespace agentbox::test;

namespace {

struct Editor : ToolFixture {
  OrderedJson apply(const std::string& operations) {
    return structured(apply_edits_tool(), R"({"operations":)" + operations + "}");
  }
  std::string refused(const std::string& operations) {
    const ToolResult result = call(apply_edits_tool(), R"({"operations":)" + operations + "}");
    error = result.error.value_or(ToolError{});
    return error.code;
  }
  ToolError error = {};
};

bool exists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

}  // namespace

TEST_CASE("several files change together, with their differences in the answer") {
  Editor box;
  put_file(box.at("a.txt"), "one\r\ntwo\nthree", 0600);
  put_file(box.at("b"), "b");
  const auto said = box.apply(R"([
    {"op":"edit","path":"a.txt","edits":[{"old_string":"one","new_string":"1"},{"old_string":"three","new_string":"3"}]},
    {"op":"write","path":"new/c","content":"AAE=","encoding":"base64","mode":"0755"},
    {"op":"delete","path":"b"},
    {"op":"mkdir","path":"d/e"},
    {"op":"chmod","path":"a.txt","mode":"0640"}])");
  CHECK(said.at("applied") == true);
  CHECK(said.at("files_changed") == 4);
  CHECK(said.at("results").size() == 5);
  const auto& first = said.at("results").at(0);
  CHECK(first.at("replacements") == 2);
  CHECK(first.at("previous_sha256") == sha256_hex("one\r\ntwo\nthree"));
  CHECK(first.at("sha256") == sha256_hex("1\r\ntwo\n3"));
  CHECK(first.at("diff").get<std::string>().find("-three") != std::string::npos);
  CHECK_FALSE(said.at("results").at(1).contains("diff"));  // it is no text
  CHECK(file_content(box.at("a.txt")) == "1\r\ntwo\n3");
  CHECK(mode_of(box.at("a.txt")) == 0640);
  CHECK(file_content(box.at("new/c")) == std::string("\0\1", 2));
  CHECK(mode_of(box.at("new/c")) == 0755);
  CHECK_FALSE(exists(box.at("b")));
  CHECK(exists(box.at("d/e")));
}

TEST_CASE("each operation sees what those before it did") {
  Editor box;
  put_file(box.at("a"), "one");
  put_file(box.at("old"), "old");
  const auto said =
      box.apply(R"([
    {"op":"edit","path":"a","edits":[{"old_string":"one","new_string":"two"}]},
    {"op":"edit","path":"a","if_sha256":")" +
                sha256_hex("two") + R"(","edits":[{"old_string":"two","new_string":"three"}]},
    {"op":"delete","path":"old"},
    {"op":"move","path":"a","destination":"old"},
    {"op":"write","path":"a","content":"fresh","if_absent":true}])");
  CHECK(said.at("applied") == true);
  CHECK(file_content(box.at("old")) == "three");
  CHECK(file_content(box.at("a")) == "fresh");
}

TEST_CASE("a dry run checks and shows all, and changes nothing") {
  Editor box;
  put_file(box.at("a"), "one");
  const auto said = box.structured(apply_edits_tool(), R"({"dry_run":true,"operations":[
    {"op":"edit","path":"a","edits":[{"old_string":"one","new_string":"two"}]},
    {"op":"write","path":"x/y","content":"z"}]})");
  CHECK(said.at("applied") == false);
  CHECK(said.at("results").at(0).at("sha256") == sha256_hex("two"));
  CHECK(file_content(box.at("a")) == "one");
  CHECK_FALSE(exists(box.at("x")));
}

TEST_CASE("one operation that fails leaves every file as it was") {
  Editor box;
  put_file(box.at("a"), "one one");
  put_file(box.at("b"), "b");
  const std::string first = R"([{"op":"write","path":"b","content":"changed"},)";
  const auto code = [&](const std::string& second) { return box.refused(first + second + "]"); };
  CHECK(code(R"({"op":"edit","path":"a","edits":[{"old_string":"two","new_string":"x"}]})") ==
        "NOT_FOUND_TEXT");
  CHECK(box.error.message.find("operation 2") != std::string::npos);
  CHECK(code(R"({"op":"edit","path":"a","edits":[{"old_string":"one","new_string":"x"}]})") ==
        "AMBIGUOUS");
  CHECK(code(R"({"op":"edit","path":"nope","edits":[{"old_string":"a","new_string":"x"}]})") ==
        "ENOENT");
  CHECK(code(R"({"op":"write","path":"a","content":"","if_absent":true})") == "EEXIST");
  CHECK(code(R"({"op":"move","path":"a","destination":"b"})") == "EEXIST");
  CHECK(code(R"({"op":"delete","path":"nope"})") == "ENOENT");
  CHECK(code(R"({"op":"delete","path":"."})") == "ROOT_REFUSED");
  CHECK(code(R"({"op":"write","path":"../x","content":""})") == "ESCAPE");
  CHECK(code(R"({"op":"write","path":"b/c","content":""})") == "ENOTDIR");
  CHECK(code(R"({"op":"write","path":"c"})") == "INVALID_ARGUMENT");
  CHECK(code(R"({"op":"delete","path":"a","content":"x"})") == "INVALID_ARGUMENT");
  CHECK(code(R"({"op":"write","path":"c","content":"%","encoding":"base64"})") ==
        "INVALID_ENCODING");
  CHECK(file_content(box.at("a")) == "one one");
  CHECK(file_content(box.at("b")) == "b");
}

TEST_CASE("all conditions that do not hold are told at once") {
  Editor box;
  put_file(box.at("a"), "a");
  put_file(box.at("b"), "b");
  const std::string wrong(64, '0');
  CHECK(box.refused(R"([{"op":"delete","path":"a","if_sha256":")" + wrong +
                    R"("},{"op":"write","path":"b","content":"x","if_sha256":")" + sha256_hex("b") +
                    R"("},{"op":"write","path":"c","content":"x","if_sha256":")" + wrong +
                    R"("}])") == "PRECONDITION_FAILED");
  const auto& unmet = box.error.details.at("unmet");
  REQUIRE(unmet.size() == 2);
  CHECK(unmet.at(0).at("operation") == 1);
  CHECK(unmet.at(0).at("sha256") == sha256_hex("a"));
  CHECK(unmet.at(1).at("operation") == 3);
  CHECK(file_content(box.at("b")) == "b");
}

TEST_CASE("a write goes through a link that stays inside; a link is moved and deleted itself") {
  Editor box;
  TemporaryFolder outside;
  put_file(box.at("t"), "target");
  put_file(outside.at("far"), "theirs");
  REQUIRE(::symlink("t", box.at("in").c_str()) == 0);
  REQUIRE(::symlink(outside.at("far").c_str(), box.at("out").c_str()) == 0);
  CHECK(box.refused(R"([{"op":"write","path":"out","content":"x"}])") == "ESCAPE");
  box.apply(R"([{"op":"write","path":"in","content":"new"},{"op":"delete","path":"out"}])");
  CHECK(file_content(box.at("t")) == "new");
  CHECK(file_content(outside.at("far")) == "theirs");
  CHECK_FALSE(exists(box.at("out")));
  REQUIRE(::mkfifo(box.at("fifo").c_str(), 0600) == 0);
  CHECK(box.refused(R"([{"op":"write","path":"fifo","content":"x"}])") == "INVALID_ARGUMENT");
}

TEST_CASE("names that are no UTF-8 are found by their quoted form") {
  Editor box;
  put_file(box.at("no\377utf"), "old");
  box.apply(
      R"([{"op":"edit","path":"\"no\\377utf\"","edits":[{"old_string":"old","new_string":"new"}]}])");
  CHECK(file_content(box.at("no\377utf")) == "new");
}
