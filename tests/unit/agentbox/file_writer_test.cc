// edge: what a write leaves on disk when it works, when it fails and when others interfere.
#include "agentbox/file_writer.h"

#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "agentbox/leftovers.h"
#include "base/text.h"
#include "support/catch.h"
#include "unit/agentbox/small_disk.h"
#include "unit/agentbox/temporary_folder.h"

using namespace agentbox;
using namespace agentbox::mcp;
using namespace agentbox::test;

namespace {

constexpr KernelFeatures kAll{.openat2 = true, .unnamed_files = true};
constexpr KernelFeatures kNone{};

struct Fixture {
  TemporaryFolder root;
  TemporaryFolder output;
  std::unique_ptr<Workspace> workspace;

  explicit Fixture(const KernelFeatures& features, const std::string& below = "/tmp")
      : root(below) {
    auto opened =
        Workspace::open({.workspace = root.path(), .output = output.path(), .features = features});
    REQUIRE(opened.ok());
    workspace = std::move(*opened);
  }
  Outcome<WriteOutcome> write(const std::string& name, const WriteRequest& request) const {
    return write_file(*workspace, {.relative = name}, request, output.path());
  }
  std::string code(const std::string& name, const WriteRequest& request) const {
    auto result = write(name, request);
    return result.ok() ? "" : result.error().code;
  }
};

}  // namespace

TEST_CASE("a new file has the content, the sha256 and a mode that obeys the umask") {
  for (const auto& features : {kAll, kNone}) {
    Fixture box(features);
    const auto result = box.write("a/b/c.txt", {.data = "hello"});
    REQUIRE(result.ok());
    CHECK(result->created);
    CHECK(result->size == 5);
    CHECK(result->sha256 == sha256_hex("hello"));
    CHECK(result->mode == (0644U & ~box.workspace->umask_bits()));
    CHECK(file_content(box.root.at("a/b/c.txt")) == "hello");
    CHECK(names_in(box.root.at("a/b")).size() == 1);
  }
}

TEST_CASE("replacing a file keeps its permission bits, set-group-id included") {
  for (const auto& features : {kAll, kNone}) {
    Fixture box(features);
    put_file(box.root.at("run.sh"), "old", 02750);
    put_file(box.root.at("private"), "old", 0600);
    REQUIRE(box.write("run.sh", {.data = "new"}).ok());
    REQUIRE(box.write("private", {.data = "new"}).ok());
    CHECK(mode_of(box.root.at("run.sh")) == 02750);
    CHECK(mode_of(box.root.at("private")) == 0600);
    REQUIRE(box.write("private", {.data = "new", .mode = 0640}).ok());
    CHECK(mode_of(box.root.at("private")) == 0640);
    REQUIRE(box.write("private", {.data = "new", .keep_mode = false}).ok());
    CHECK(mode_of(box.root.at("private")) == (0644U & ~box.workspace->umask_bits()));
  }
}

TEST_CASE("preconditions that do not hold change nothing and make no folder") {
  for (const auto& features : {kAll, kNone}) {
    Fixture box(features);
    put_file(box.root.at("f"), "old");
    CHECK(box.code("f", {.data = "new", .if_sha256 = sha256_hex("other")}) ==
          "PRECONDITION_FAILED");
    CHECK(box.code("f", {.data = "new", .if_absent = true}) == "EEXIST");
    CHECK(box.code("x/y/g", {.data = "new", .if_sha256 = sha256_hex("old")}) ==
          "PRECONDITION_FAILED");
    CHECK(box.code("x/g", {.data = "new", .make_folders = false}) == "ENOENT");
    CHECK(file_content(box.root.at("f")) == "old");
    CHECK(names_in(box.root.path()).size() == 1);
    const auto result = box.write("f", {.data = "new", .if_sha256 = sha256_hex("old")});
    REQUIRE(result.ok());
    CHECK(result->previous_sha256 == sha256_hex("old"));
    CHECK(!result->created);
    CHECK(file_content(box.root.at("f")) == "new");
  }
}

TEST_CASE("a file with two names is written in place and both names show the new content") {
  for (const auto& features : {kAll, kNone}) {
    Fixture box(features);
    put_file(box.root.at("a"), "a long old content");
    REQUIRE(::link(box.root.at("a").c_str(), box.root.at("b").c_str()) == 0);
    const auto result = box.write("a", {.data = "short"});
    REQUIRE(result.ok());
    CHECK(result->in_place);
    CHECK(file_content(box.root.at("a")) == "short");
    CHECK(file_content(box.root.at("b")) == "short");
    CHECK(names_in(box.output.path()).empty());
  }
}

TEST_CASE("a file in a folder that takes no new file is written in place") {
  for (const auto& features : {kAll, kNone}) {
    Fixture box(features);
    put_file(box.root.at("d/f"), "a long old content", 0666);
    REQUIRE(::chmod(box.root.at("d").c_str(), 0555) == 0);
    REQUIRE(::chmod(box.root.path().c_str(), 0755) == 0);
    REQUIRE(::chmod(box.output.path().c_str(), 0777) == 0);
    const auto before =
        ::setfsuid(65534);  // root may write anywhere; everybody else stays who he is
    const auto result = box.write("d/f", {.data = "short"});
    const std::string new_file = box.code("d/g", {.data = "x"});
    ::setfsuid(static_cast<uid_t>(before));
    REQUIRE(result.ok());
    CHECK(result->in_place);
    CHECK(file_content(box.root.at("d/f")) == "short");
    CHECK(new_file == "EACCES");
    CHECK(names_in(box.output.path()).empty());
    REQUIRE(::chmod(box.root.at("d").c_str(), 0755) == 0);
  }
}

TEST_CASE("a file is written through a link that stays inside and the link stays") {
  for (const auto& features : {kAll, kNone}) {
    Fixture box(features);
    put_file(box.root.at("dir/t"), "old");
    REQUIRE(::symlink("dir/t", box.root.at("l").c_str()) == 0);
    REQUIRE(box.write("l", {.data = "new"}).ok());
    CHECK(std::filesystem::is_symlink(box.root.at("l")));
    CHECK(file_content(box.root.at("dir/t")) == "new");
  }
}

TEST_CASE("what users set on a file outlives its replacement where the file system has such") {
  for (const auto& features : {kAll, kNone}) {
    Fixture box(features);
    put_file(box.root.at("f"), "old");
    const std::string path = box.root.at("f");
    if (::setxattr(path.c_str(), "user.origin", "here", 4, 0) != 0) {
      WARN("skipped: the file system of /tmp has no attributes of users");
      return;
    }
    const auto result = box.write("f", {.data = "new"});
    REQUIRE(result.ok());
    CHECK(!result->in_place);
    CHECK(file_content(path) == "new");
    std::string value(16, '\0');
    const ssize_t size = ::getxattr(path.c_str(), "user.origin", value.data(), value.size());
    REQUIRE(size == 4);
    CHECK(value.substr(0, 4) == "here");
  }
}

TEST_CASE("appending adds to the end, creates what is missing, and hashes the whole") {
  for (const auto& features : {kAll, kNone}) {
    Fixture box(features);
    REQUIRE(box.write("log", {.data = "one\n", .append = true}).ok());
    const auto result = box.write("log", {.data = "two\n", .append = true});
    REQUIRE(result.ok());
    CHECK(result->sha256 == sha256_hex("one\ntwo\n"));
    CHECK(file_content(box.root.at("log")) == "one\ntwo\n");
  }
}

TEST_CASE("on a full disk a failed write leaves the old content and no other file") {
  const TemporaryFolder folder;
  const SmallDisk disk(folder.path());
  if (!disk.mounted()) {
    WARN("skipped: only root can mount the small disk this test fills");
    return;
  }
  const std::string large(512 * 1024, 'x');
  for (const auto& features : {kAll, kNone}) {
    Fixture box(features, folder.path());
    put_file(box.root.at("plain"), "old plain");
    put_file(box.root.at("linked"), "old linked");
    REQUIRE(::link(box.root.at("linked").c_str(), box.root.at("other").c_str()) == 0);
    put_file(box.root.at("log"), "old log");
    CHECK(box.code("plain", {.data = large}) == "ENOSPC");
    CHECK(box.code("linked", {.data = large}) == "ENOSPC");
    CHECK(box.code("log", {.data = large, .append = true}) == "ENOSPC");
    CHECK(box.code("new/folder/file", {.data = large}) == "ENOSPC");
    CHECK(file_content(box.root.at("plain")) == "old plain");
    CHECK(file_content(box.root.at("linked")) == "old linked");
    CHECK(file_content(box.root.at("log")) == "old log");
    CHECK(names_in(box.root.path()).size() == 4);
    CHECK(names_in(box.output.path()).empty());
    CHECK(box.write("plain", {.data = "there is room for this"}).ok());
  }
}

TEST_CASE("links planted at guessable temporary names never redirect a write") {
  for (const auto& features : {kAll, kNone}) {
    Fixture box(features);
    put_file(box.root.at("victim"), "untouched");
    std::atomic<bool> stop = false;
    std::thread attacker([&] {
      const std::vector<std::string> names = {"f.tmp", ".f." + std::to_string(::getpid()) + ".tmp",
                                              ".agentbox-tmp-", "f~"};
      while (!stop.load()) {
        for (const std::string& name : names) {
          (void)::unlink(box.root.at(name).c_str());
          (void)!::symlink("victim", box.root.at(name).c_str());
        }
      }
    });
    for (int i = 0; i < 500; ++i) {
      REQUIRE(box.write("f", {.data = "content " + std::to_string(i), .sync = false}).ok());
    }
    stop = true;
    attacker.join();
    CHECK(file_content(box.root.at("victim")) == "untouched");
    CHECK(file_content(box.root.at("f")) == "content 499");
  }
}

TEST_CASE("a name replaced by somebody else while we write is a conflict, never a lost success") {
  for (const auto& features : {kAll, kNone}) {
    Fixture box(features);
    put_file(box.root.at("f"), "start");
    std::atomic<bool> stop = false;
    std::thread other([&] {
      for (int i = 0; !stop.load(); ++i) {
        put_file(box.root.at("theirs"), "theirs");
        (void)::rename(box.root.at("theirs").c_str(), box.root.at("f").c_str());
      }
    });
    std::size_t conflicts = 0;
    for (int i = 0; i < 300; ++i) {
      const auto result = box.write("f", {.data = "ours", .sync = false});
      if (!result.ok()) {
        CHECK(result.error().code == "CONFLICT");
        ++conflicts;
      }
    }
    stop = true;
    other.join();
    INFO("conflicts: " << conflicts);
    const std::string content = file_content(box.root.at("f"));
    CHECK((content == "ours" || content == "theirs"));
    for (const std::string& name : names_in(box.root.path())) {
      CHECK(!is_temporary_name(name));
    }
  }
}

TEST_CASE("writers and appenders of one name wait for each other, and none is told of a conflict") {
  for (const auto& features : {kAll, kNone}) {
    Fixture box(features);
    std::atomic<int> done = 0;
    std::vector<std::thread> writers;
    for (int i = 0; i < 8; ++i) {
      writers.emplace_back([&] {
        for (int turn = 0; turn < 20; ++turn) {
          done +=
              box.write("log", {.data = "a line\n", .append = true, .sync = false}).ok() ? 1 : 0;
          done += box.write("f", {.data = "whole", .sync = false}).ok() ? 1 : 0;
        }
      });
    }
    for (std::thread& writer : writers) {
      writer.join();
    }
    CHECK(done == 320);
    CHECK(file_content(box.root.at("log")).size() == 160 * 7);
    CHECK(file_content(box.root.at("f")) == "whole");
  }
}

TEST_CASE("only one of two writers with the same if_absent creates the file") {
  for (const auto& features : {kAll, kNone}) {
    Fixture box(features);
    std::atomic<int> won = 0;
    std::vector<std::thread> writers;
    for (int i = 0; i < 8; ++i) {
      writers.emplace_back([&] {
        won += box.write("f", {.data = "x", .if_absent = true, .sync = false}).ok() ? 1 : 0;
      });
    }
    for (std::thread& writer : writers) {
      writer.join();
    }
    CHECK(won == 1);
  }
}

TEST_CASE("what a killed write left is removed at the next start, and nothing else") {
  Fixture box(kAll);
  put_file(box.root.at("d/.agentbox-tmp-0123456789abcdef"), "half");
  put_file(box.root.at("d/.agentbox-temporary"), "mine");
  CHECK(remove_temporaries(box.workspace->folder(), ::time(nullptr) - 60) == 0);
  CHECK(remove_temporaries(box.workspace->folder(), ::time(nullptr) + 60) == 1);
  CHECK(names_in(box.root.at("d")) == std::vector<std::string>{".agentbox-temporary"});
}

TEST_CASE("emptying a folder takes everything below it and follows no link") {
  TemporaryFolder outside;
  TemporaryFolder folder;
  put_file(outside.at("keep"), "x");
  put_file(folder.at("a/b/c"), "x");
  REQUIRE(::symlink(outside.path().c_str(), folder.at("a/link").c_str()) == 0);
  REQUIRE(::chmod(folder.at("a/b").c_str(), 0) == 0);
  const int fd = ::open(folder.path().c_str(), O_PATH | O_DIRECTORY);
  CHECK(empty_folder(fd) == 0);
  ::close(fd);
  CHECK(names_in(folder.path()).empty());
  CHECK(file_content(outside.at("keep")) == "x");
}
