// edge: move_file and delete_file: what is on disk after them, and what they refuse.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "agentbox/mover.h"
#include "agentbox/remover.h"
#include "base/text.h"
#include "support/catch.h"
#include "unit/agentbox/small_disk.h"
#include "unit/agentbox/tool_fixture.h"

using namespace agentbox;
using namespace agentbox::mcp;
using namespace agentbox::test;

namespace {

constexpr KernelFeatures kAll{.openat2 = true, .unnamed_files = true, .inotify = true};
constexpr KernelFeatures kNone{};

bool exists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

// One box's workspace with and without the kernel's newer calls.
struct Place {
  TemporaryFolder root;
  TemporaryFolder outside;
  std::unique_ptr<Workspace> workspace;

  explicit Place(const KernelFeatures& features) {
    auto opened = Workspace::open({.workspace = root.path(), .output = {}, .features = features});
    REQUIRE(opened.ok());
    workspace = std::move(*opened);
  }
  // The error's code, empty where it worked.
  std::string move(const std::string& from, const std::string& to,
                   const MoveRequest& request = {}) {
    const auto result = move_name(*workspace, {.relative = from}, {.relative = to}, request);
    replaced = result.ok() && result->replaced;
    return result.ok() ? "" : result.error().code;
  }
  std::string remove(const std::string& path, const RemoveRequest& request = {}) {
    const auto result = remove_name(*workspace, {.relative = path}, request);
    removed = result.ok() ? *result : RemoveOutcome{};
    return result.ok() ? "" : result.error().code;
  }
  [[nodiscard]] std::string at(const std::string& name) const { return root.at(name); }

  bool replaced = false;
  RemoveOutcome removed = {};
};

}  // namespace

TEST_CASE("a file gets its new name, missing folders on the way are made") {
  for (const auto& features : {kAll, kNone}) {
    Place box(features);
    put_file(box.at("a"), "one", 0640);
    CHECK(box.move("a", "x/y/b").empty());
    CHECK(!box.replaced);
    CHECK(!exists(box.at("a")));
    CHECK(file_content(box.at("x/y/b")) == "one");
    CHECK(mode_of(box.at("x/y/b")) == 0640);
  }
}

TEST_CASE("a move replaces a file unless it must not") {
  for (const auto& features : {kAll, kNone}) {
    Place box(features);
    put_file(box.at("a"), "one");
    put_file(box.at("b"), "two");
    CHECK(box.move("a", "b", {.overwrite = false}) == "EEXIST");
    CHECK(file_content(box.at("a")) == "one");
    CHECK(file_content(box.at("b")) == "two");
    CHECK(box.move("a", "b").empty());
    CHECK(box.replaced);
    CHECK(file_content(box.at("b")) == "one");
    CHECK(box.move("b", "c", {.overwrite = false}).empty());
    CHECK(file_content(box.at("c")) == "one");
  }
}

TEST_CASE("folders move whole and are never merged, nor moved into themselves") {
  for (const auto& features : {kAll, kNone}) {
    Place box(features);
    put_file(box.at("d/e/f"), "x");
    put_file(box.at("full/g"), "y");
    put_file(box.at("file"), "z");
    REQUIRE(::mkdir(box.at("empty").c_str(), 0755) == 0);
    CHECK(box.move("d", "full") == "NOT_EMPTY");
    CHECK(box.move("d", "d/e/inside") == "INVALID_ARGUMENT");
    CHECK(box.move("d", "d/new/inside") == "INVALID_ARGUMENT");
    CHECK(!exists(box.at("d/new")));
    CHECK(box.move("d", "file") == "ENOTDIR");
    CHECK(box.move("file", "d") == "EISDIR");
    CHECK(box.move("d", "empty", {.overwrite = false}) == "EEXIST");
    CHECK(box.move("d", "fresh", {.overwrite = false}).empty());
    CHECK(box.move("fresh", "empty").empty());
    CHECK(box.replaced);
    CHECK(file_content(box.at("empty/e/f")) == "x");
  }
}

TEST_CASE("a link is moved and deleted itself, and what it leads to stays") {
  for (const auto& features : {kAll, kNone}) {
    Place box(features);
    put_file(box.outside.at("far"), "theirs");
    put_file(box.at("t"), "target");
    REQUIRE(::symlink(box.outside.at("far").c_str(), box.at("out").c_str()) == 0);
    REQUIRE(::symlink("t", box.at("in").c_str()) == 0);
    CHECK(box.move("out", "moved").empty());
    CHECK(std::filesystem::is_symlink(box.at("moved")));
    CHECK(box.move("t", "in").empty());  // the link's name, not its target
    CHECK(!std::filesystem::is_symlink(box.at("in")));
    CHECK(file_content(box.at("in")) == "target");
    CHECK(box.remove("moved").empty());
    CHECK(S_ISLNK(box.removed.mode));
    CHECK(!exists(box.at("moved")));
    CHECK(file_content(box.outside.at("far")) == "theirs");
  }
}

TEST_CASE("two names of one file become one") {
  for (const auto& features : {kAll, kNone}) {
    Place box(features);
    put_file(box.at("a"), "x");
    REQUIRE(::link(box.at("a").c_str(), box.at("b").c_str()) == 0);
    CHECK(box.move("a", "b").empty());
    CHECK(!exists(box.at("a")));
    CHECK(file_content(box.at("b")) == "x");
    CHECK(box.move("b", "./b") == "INVALID_ARGUMENT");
    REQUIRE(::mkdir(box.at("d").c_str(), 0755) == 0);
    REQUIRE(::link(box.at("b").c_str(), box.at("d/b").c_str()) == 0);
    CHECK(box.move("d/b", "b").empty());
    CHECK(!exists(box.at("d/b")));
    CHECK(file_content(box.at("b")) == "x");
  }
}

TEST_CASE("moves and deletions stay beneath the workspace and leave it standing") {
  for (const auto& features : {kAll, kNone}) {
    Place box(features);
    put_file(box.outside.at("f"), "theirs");
    put_file(box.at("a/f"), "ours");
    REQUIRE(::symlink(box.outside.path().c_str(), box.at("d").c_str()) == 0);
    CHECK(box.move("a/f", "d/stolen") == "ESCAPE");
    CHECK(box.move("d/f", "a/g") == "ESCAPE");
    CHECK(box.move("a/f", "../g") == "ESCAPE");
    CHECK(box.remove("d/f") == "ESCAPE");
    CHECK(box.remove("d/", {.recursive = true}) == "ENOTDIR");
    CHECK(box.remove("../x", {.recursive = true}) == "ESCAPE");
    for (const char* const root : {".", "./", "a/..", "a/../."}) {
      CAPTURE(root);
      CHECK(box.remove(root, {.recursive = true}) == "ROOT_REFUSED");
      CHECK(box.move(root, "b") == "ROOT_REFUSED");
      CHECK(box.move("a", root) == "ROOT_REFUSED");
    }
    CHECK(box.remove("..", {.recursive = true}) == "ESCAPE");
    CHECK(box.remove("a/.", {.recursive = true}) == "INVALID_ARGUMENT");
    CHECK(file_content(box.at("a/f")) == "ours");
    CHECK(file_content(box.outside.at("f")) == "theirs");
  }
}

TEST_CASE("a condition on the content that does not hold changes nothing") {
  for (const auto& features : {kAll, kNone}) {
    Place box(features);
    put_file(box.at("f"), "now");
    put_file(box.at("d/x"), "");
    const std::string old = sha256_hex("before");
    CHECK(box.move("f", "new/g", {.if_sha256 = old}) == "PRECONDITION_FAILED");
    CHECK(!exists(box.at("new")));
    CHECK(box.remove("f", {.if_sha256 = old}) == "PRECONDITION_FAILED");
    CHECK(box.move("d", "e", {.if_sha256 = old}) == "INVALID_ARGUMENT");
    CHECK(box.remove("d", {.recursive = true, .if_sha256 = old}) == "INVALID_ARGUMENT");
    CHECK(box.move("f", "g", {.if_sha256 = sha256_hex("now")}).empty());
    CHECK(box.remove("g", {.if_sha256 = sha256_hex("now")}).empty());
  }
}

TEST_CASE("a folder goes only where all in it may go") {
  for (const auto& features : {kAll, kNone}) {
    Place box(features);
    put_file(box.outside.at("keep"), "theirs");
    put_file(box.at("d/a"), "12345");
    put_file(box.at("d/e/b"), "123");
    put_file(box.at("d/e/.agentbox-tmp-1"), "");
    REQUIRE(::symlink(box.outside.path().c_str(), box.at("d/e/link").c_str()) == 0);
    REQUIRE(::mkfifo(box.at("d/fifo").c_str(), 0600) == 0);
    CHECK(box.remove("d") == "NOT_EMPTY");
    REQUIRE(::mkdir(box.at("empty").c_str(), 0700) == 0);
    CHECK(box.remove("empty").empty());
    CHECK(file_content(box.at("d/a")) == "12345");
    CHECK(box.remove("d", {.recursive = true}).empty());
    CHECK(box.removed.files == 5);
    CHECK(box.removed.bytes == 8);
    CHECK(!exists(box.at("d")));
    CHECK(file_content(box.outside.at("keep")) == "theirs");
    CHECK(box.remove("d", {.recursive = true}) == "ENOENT");
  }
}

TEST_CASE("no depth of folders is too deep to delete, and no width too wide") {
  Place box(kAll);
  constexpr int kDepth = 1500;  // more than a process may have descriptors
  UniqueFd here(::open(box.root.path().c_str(), O_RDONLY | O_DIRECTORY));
  for (int i = 0; i < kDepth; ++i) {
    REQUIRE(::mkdirat(here.get(), "deep", 0755) == 0);
    here = UniqueFd(::openat(here.get(), "deep", O_RDONLY | O_DIRECTORY));
    REQUIRE(here.valid());
  }
  constexpr int kWidth = 1200;  // more than are noted at once
  for (int i = 0; i < kWidth; ++i) {
    put_file(box.at("deep/wide/d" + std::to_string(i) + "/f"), "");
  }
  CHECK(box.remove("deep", {.recursive = true}).empty());
  CHECK(box.removed.files == kWidth);
  CHECK(names_in(box.root.path()).empty());
}

TEST_CASE("a cancelled deletion stops and says how far it came") {
  Place box(kAll);
  put_file(box.at("d/a"), "");
  const auto result = remove_name(*box.workspace, {.relative = "d"},
                                  {.recursive = true, .cancelled = [] { return true; }});
  REQUIRE(!result.ok());
  CHECK(result.error().code == "CANCELLED");
  CHECK(result.error().details["files_deleted"] == 0);
  CHECK(exists(box.at("d/a")));
}

TEST_CASE("what is mounted in a folder stays, and the deletion says so") {
  for (const auto& features : {kAll, kNone}) {
    Place box(features);
    put_file(box.at("d/plain"), "");
    REQUIRE(::mkdir(box.at("d/mounted").c_str(), 0755) == 0);
    const SmallDisk disk(box.at("d/mounted"));
    if (!disk.mounted()) {
      WARN("skipped: only root can mount the disk this test needs");
      return;
    }
    put_file(box.at("d/mounted/precious"), "x");
    CHECK(box.remove("d", {.recursive = true}) == "EBUSY");
    CHECK(file_content(box.at("d/mounted/precious")) == "x");
    CHECK(box.remove("d/mounted/precious").empty());
  }
}

TEST_CASE(
    "between file systems a file is copied with what it is dressed in, then its source goes") {
  for (const auto& features : {kAll, kNone}) {
    Place box(features);
    REQUIRE(::mkdir(box.at("disk").c_str(), 0755) == 0);
    const SmallDisk disk(box.at("disk"));
    if (!disk.mounted()) {
      WARN("skipped: only root can mount the disk this test needs");
      return;
    }
    put_file(box.at("a"), "content", 0750);
    const std::array<timespec, 2> times{timespec{.tv_sec = 1000, .tv_nsec = 0},
                                        timespec{.tv_sec = 2000, .tv_nsec = 5}};
    REQUIRE(::utimensat(AT_FDCWD, box.at("a").c_str(), times.data(), 0) == 0);
    CHECK(box.move("a", "disk/b").empty());
    CHECK(!exists(box.at("a")));
    CHECK(file_content(box.at("disk/b")) == "content");
    CHECK(mode_of(box.at("disk/b")) == 0750);
    struct stat info {};
    REQUIRE(::stat(box.at("disk/b").c_str(), &info) == 0);
    CHECK(info.st_mtim.tv_sec == 2000);
    REQUIRE(::symlink("b", box.at("disk/l").c_str()) == 0);
    CHECK(box.move("disk/l", "l").empty());
    CHECK(std::filesystem::read_symlink(box.at("l")) == "b");
    CHECK(!exists(box.at("disk/l")));

    put_file(box.at("other"), "other");
    CHECK(box.move("other", "disk/b", {.overwrite = false}) != "");
    CHECK(file_content(box.at("disk/b")) == "content");
    CHECK(box.move("other", "disk/b").empty());
    CHECK(box.replaced);
    CHECK(file_content(box.at("disk/b")) == "other");

    put_file(box.at("folder/f"), "");
    CHECK(box.move("folder", "disk/folder") == "EXDEV");
    CHECK(exists(box.at("folder/f")));

    put_file(box.at("large"), std::string(512 * 1024, 'x'));
    CHECK(box.move("large", "disk/large") == "ENOSPC");
    CHECK(exists(box.at("large")));
    CHECK(names_in(box.at("disk")) == std::vector<std::string>{"b"});
  }
}

TEST_CASE("move_file answers with Containarium's head, then with what is ours") {
  ToolFixture box;
  put_file(box.at("a"), "x");
  put_file(box.at("c"), "x");
  CHECK(box.text(move_file_tool(), R"({"source":"a","destination":"b"})") ==
        "source: " + box.at("a") + "\ndestination: " + box.at("b") + "\n");
  CHECK(box.text(move_file_tool(), R"({"source":"c","destination":"b"})") ==
        "source: " + box.at("c") + "\ndestination: " + box.at("b") + "\nreplaced: true\n");
  const auto json = box.structured(move_file_tool(), R"({"source":"b","destination":"d/e"})");
  CHECK(dump_json(json) == R"({"source":")" + box.at("b") + R"(","destination":")" + box.at("d/e") +
                               R"(","replaced":false})");
  CHECK(box.code(move_file_tool(), R"({"source":"nope","destination":"x/y"})") == "ENOENT");
  CHECK(!exists(box.at("x")));
  CHECK(box.code(move_file_tool(), R"({"source":"/etc/hostname","destination":"x"})") == "ESCAPE");
  CHECK(box.code(move_file_tool(), R"({"source":"d/e","destination":"/tmp/x"})") == "ESCAPE");
  CHECK(box.code(move_file_tool(), R"({"source":"d/e","destination":".agentbox-tmp-0"})") ==
        "INVALID_ARGUMENT");
  CHECK(box.code(move_file_tool(), R"({"source":"d/e","destination":")" + box.output() + "/x\"}") ==
        "EROFS");
}

TEST_CASE("delete_file answers with Containarium's head, then with what is ours") {
  ToolFixture box;
  put_file(box.at("a"), "12345");
  put_file(box.at("d/b"), "123");
  CHECK(box.text(delete_file_tool(), R"({"path":"a"})") ==
        "path: " + box.at("a") + "\nbytes_deleted: 5\n");
  CHECK(box.code(delete_file_tool(), R"({"path":"a"})") == "ENOENT");
  CHECK(box.text(delete_file_tool(), R"({"path":"a","missing_ok":true})") ==
        "path: " + box.at("a") + "\nbytes_deleted: 0\ndeleted: false\n");
  CHECK(box.text(delete_file_tool(), R"({"path":"d","recursive":true})") ==
        "path: " + box.at("d") + "\nbytes_deleted: 3\ntype: directory\nfiles_deleted: 1\n");
  put_file(box.at("a"), "12345");
  const auto json = box.structured(delete_file_tool(), R"({"path":"a"})");
  CHECK(dump_json(json) ==
        R"({"path":")" + box.at("a") +
            R"(","bytes_deleted":5,"deleted":true,"type":"file","files_deleted":1})");
  put_file(box.output() + "/spilled", "x");
  CHECK(box.code(delete_file_tool(), R"({"path":")" + box.output() + "/spilled\"}") == "EROFS");
  CHECK(box.code(delete_file_tool(), R"({"path":"/etc/hostname"})") == "ESCAPE");
}
