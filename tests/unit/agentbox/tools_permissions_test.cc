// edge: set_permissions: what it sets, what it passes over, and what it refuses.
#include <sys/stat.h>
#include <unistd.h>

#include "agentbox/permissions.h"
#include "support/catch.h"
#include "unit/agentbox/tool_fixture.h"

using namespace agentbox;
using namespace agentbox::mcp;
using namespace agentbox::test;

namespace {

OrderedJson set(ToolFixture& box, const std::string& arguments) {
  return box.structured(set_permissions_tool(), arguments);
}

}  // namespace

TEST_CASE("a file gets its mode, and is counted where it had another") {
  ToolFixture box;
  put_file(box.at("a"), "x", 0600);
  CHECK(box.text(set_permissions_tool(), R"({"path":"a","mode":"0755"})") ==
        "path: " + box.at("a") + "\nmode: 0755\nchanged: 1\n");
  CHECK(mode_of(box.at("a")) == 0755);
  CHECK(set(box, R"({"path":"a","mode":"755"})")["changed"] == 0);
  CHECK(set(box, R"({"path":".","mode":"0750"})")["mode"] == "0750");
}

TEST_CASE("the workspace itself stays open to its owner, by whatever name") {
  ToolFixture box;
  put_file(box.at("d/a"), "x", 0600);
  const mode_t before = mode_of(box.at("."));
  for (const char* const arguments :
       {R"({"path":".","mode":"0000"})", R"({"path":".","mode":"0500"})",
        R"({"path":"d/..","mode":"0000"})", R"({"path":".","mode":"0400","recursive":true})"}) {
    CHECK(box.code(set_permissions_tool(), arguments) == "INVALID_ARGUMENT");
  }
  CHECK(mode_of(box.at(".")) == before);
  CHECK(mode_of(box.at("d/a")) == 0600);
  CHECK(set(box, R"({"path":".","mode":"0644","recursive":true})")["mode"] == "0755");
}

TEST_CASE("set-id bits are not set, and go with a new mode") {
  ToolFixture box;
  put_file(box.at("a"), "x", 04755);
  REQUIRE(::mkdir(box.at("d").c_str(), 0755) == 0);
  REQUIRE(::chmod(box.at("d").c_str(), 02755) == 0);
  for (const char* const mode : {"4755", "02755", "6000", "7777"}) {
    CHECK(box.code(set_permissions_tool(), R"({"path":"a","mode":")" + std::string(mode) + "\"}") ==
          "INVALID_ARGUMENT");
  }
  CHECK(mode_of(box.at("a")) == 04755);
  CHECK(set(box, R"({"path":"a","mode":"0755"})")["changed"] == 1);
  CHECK(mode_of(box.at("a")) == 0755);
  // A folder hands its group on as before, as chmod leaves it too.
  CHECK(set(box, R"({"path":"d","mode":"1777"})")["mode"] == "3777");
}

TEST_CASE("a tree gets the mode, its folders stay enterable, and links lead nowhere") {
  ToolFixture box;
  TemporaryFolder outside;
  put_file(outside.at("f"), "theirs", 0600);
  put_file(box.at("d/a"), "x", 0600);
  put_file(box.at("d/shut/b"), "x", 0600);
  put_file(box.at("d/open/c"), "x", 0640);
  REQUIRE(::symlink(outside.path().c_str(), box.at("d/out").c_str()) == 0);
  REQUIRE(::symlink("a", box.at("d/link").c_str()) == 0);
  REQUIRE(::mkfifo(box.at("d/fifo").c_str(), 0600) == 0);
  REQUIRE(::chmod(box.at("d/shut").c_str(), 0) == 0);
  const mode_t before = mode_of(outside.path());
  const auto done = set(box, R"({"path":"d","mode":"0640","recursive":true})");
  CHECK(done["mode"] == "0750");
  CHECK(done["changed"] == 6);  // d, a, shut, shut/b, open, fifo
  CHECK(mode_of(box.at("d/shut")) == 0750);
  CHECK(mode_of(box.at("d/shut/b")) == 0640);
  CHECK(mode_of(box.at("d/fifo")) == 0640);
  CHECK(mode_of(outside.path()) == before);
  CHECK(mode_of(outside.at("f")) == 0600);
  CHECK(set(box, R"({"path":"d","mode":"0640","recursive":true})")["changed"] == 0);
  // Rights that the way needs go last.
  CHECK(set(box, R"({"path":"d","mode":"0000","recursive":true})")["changed"] == 7);
  CHECK(mode_of(box.at("d")) == 0);
  CHECK(set(box, R"({"path":"d","mode":"0644","recursive":true})")["changed"] == 7);
  CHECK(mode_of(box.at("d/open")) == 0755);
}

TEST_CASE("owner and group are numbers, and what the kernel forbids is said") {
  ToolFixture box;
  put_file(box.at("a"), "x");
  const std::string uid = std::to_string(::geteuid());
  const std::string gid = std::to_string(::getegid());
  CHECK(set(box, R"({"path":"a","owner":")" + uid + R"(","group":")" + gid + "\"}")["changed"] ==
        0);
  CHECK(box.code(set_permissions_tool(), R"({"path":"a","owner":"root"})") == "INVALID_ARGUMENT");
  CHECK(box.code(set_permissions_tool(), R"({"path":"a","owner":"4294967295"})") ==
        "INVALID_ARGUMENT");
  CHECK(box.code(set_permissions_tool(), R"({"path":"a"})") == "INVALID_ARGUMENT");
  if (::geteuid() != 0) {
    CHECK(box.code(set_permissions_tool(), R"({"path":"a","owner":"0"})") == "EPERM");
    return;
  }
  CHECK(set(box, R"({"path":"a","owner":"12345","group":"54321"})")["changed"] == 1);
  struct stat info {};
  REQUIRE(::stat(box.at("a").c_str(), &info) == 0);
  CHECK(info.st_uid == 12345);
  CHECK(info.st_gid == 54321);
}

TEST_CASE("links, the world outside and the folder of output are refused") {
  ToolFixture box;
  TemporaryFolder outside;
  put_file(outside.at("f"), "theirs", 0600);
  put_file(box.output() + "/log", "x", 0600);
  REQUIRE(::symlink(outside.path().c_str(), box.at("out").c_str()) == 0);
  CHECK(box.code(set_permissions_tool(), R"({"path":"out","mode":"0777"})") == "INVALID_ARGUMENT");
  CHECK(box.code(set_permissions_tool(), R"({"path":"out/f","mode":"0777"})") == "ESCAPE");
  CHECK(box.code(set_permissions_tool(), R"({"path":"../x","mode":"0777"})") == "ESCAPE");
  CHECK(box.code(set_permissions_tool(), R"({"path":"nope","mode":"0777"})") == "ENOENT");
  CHECK(box.code(set_permissions_tool(),
                 R"({"path":")" + box.output() + R"(/log","mode":"0777"})") == "EROFS");
  CHECK(mode_of(outside.at("f")) == 0600);
}

TEST_CASE("a cancelled change says how far it came") {
  ToolFixture box;
  put_file(box.at("d/a"), "x", 0600);
  put_file(box.at("d/b"), "x", 0600);
  REQUIRE(::chmod(box.at("d").c_str(), 0755) == 0);
  const auto result = set_permissions(
      *box.box().workspace, {.relative = "d"},
      {.mode = 0644, .recursive = true, .go_on = [](std::uint64_t seen) { return seen < 2; }});
  REQUIRE(!result.ok());
  CHECK(result.error().code == "CANCELLED");
  CHECK(result.error().details["changed"] == 1);
}
