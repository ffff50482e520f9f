// edge: copy_file: what is on disk after it, and that nothing is after a copy that failed.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "agentbox/copier.h"
#include "agentbox/file_copy.h"
#include "agentbox/leftovers.h"
#include "agentbox/remover.h"
#include "support/catch.h"
#include "unit/agentbox/small_disk.h"
#include "unit/agentbox/tool_fixture.h"

using namespace agentbox;
using namespace agentbox::mcp;
using namespace agentbox::test;

namespace {

constexpr KernelFeatures kAll{.openat2 = true, .unnamed_files = true, .inotify = true};
constexpr KernelFeatures kNone{};
const CopyRequest kTree{.recursive = true};

struct stat info_of(const std::string& path) {
  struct stat info {};
  (void)::lstat(path.c_str(), &info);
  return info;
}
bool exists(const std::string& path) { return info_of(path).st_nlink > 0; }

// One box's workspace with and without the kernel's newer calls.
struct Place {
  TemporaryFolder root;
  TemporaryFolder outside;
  TemporaryFolder output;
  std::unique_ptr<Workspace> workspace;

  explicit Place(const KernelFeatures& features) {
    auto opened =
        Workspace::open({.workspace = root.path(), .output = output.path(), .features = features});
    REQUIRE(opened.ok());
    workspace = std::move(*opened);
  }
  // The error's code, empty where it worked.
  std::string copy(const std::string& from, const std::string& to, CopyRequest request = {}) {
    request.kernel_copies = workspace->features().openat2;
    const auto result = copy_name(*workspace, {.relative = from}, {.relative = to}, request);
    copied = result.ok() ? *result : CopyOutcome{};
    error = result.ok() ? ToolError{} : result.error();
    return error.code;
  }
  [[nodiscard]] std::string at(const std::string& name) const { return root.at(name); }
  // No file, no unfinished one either.
  [[nodiscard]] bool is_empty(const std::string& folder) const {
    return names_in(at(folder)).empty();
  }

  CopyOutcome copied;
  ToolError error;
};

// A file with data, a hole, data, and a hole to its end.
constexpr off_t kHole = 4L << 20;
void put_sparse(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  REQUIRE(::pwrite(file.get(), "begin", 5, 0) == 5);
  REQUIRE(::pwrite(file.get(), "middle", 6, kHole) == 6);
  REQUIRE(::ftruncate(file.get(), 2 * kHole) == 0);
}

}  // namespace

TEST_CASE("a file that is cut off or rewritten while it is copied is no copy, one that grows is") {
  TemporaryFolder folder;
  const std::string content(1UL << 20, 'a');
  const auto copy_while = [&](const std::function<void(const std::string&)>& meddle) {
    put_file(folder.at("from"), content, 0600);
    // As if it had been written long ago, so that any later write shows in its time.
    const timespec past[2] = {{.tv_sec = 1, .tv_nsec = 0}, {.tv_sec = 1, .tv_nsec = 0}};
    REQUIRE(::utimensat(AT_FDCWD, folder.at("from").c_str(), past, 0) == 0);
    const UniqueFd from(::open(folder.at("from").c_str(), O_RDONLY | O_CLOEXEC));
    const UniqueFd to(
        ::open(folder.at("to").c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    bool once = false;
    return copy_content(from.get(), to.get(), false, [&](std::uint64_t) {
      if (!once) {
        meddle(folder.at("from"));
        once = true;
      }
      return true;
    });
  };
  CHECK(copy_while([](const std::string&) {}) == 0);
  CHECK(copy_while([](const std::string& path) { CHECK(::truncate(path.c_str(), 10) == 0); }) ==
        ESTALE);
  CHECK(copy_while([](const std::string& path) {
          const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
          CHECK(::pwrite(file.get(), "b", 1, 0) == 1);
        }) == ESTALE);
  CHECK(copy_while([](const std::string& path) {
          const UniqueFd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
          CHECK(::write(file.get(), "more", 4) == 4);
        }) == 0);
  CHECK(file_content(folder.at("to")) == content);
}

TEST_CASE("a file is copied with its mode, set-id bits left behind") {
  for (const auto& features : {kAll, kNone}) {
    Place box(features);
    put_file(box.at("a"), "one", 0640);
    put_file(box.at("s"), "two", 06755);
    CHECK(box.copy("a", "x/y/b").empty());
    CHECK(box.copied.tally.files == 1);
    CHECK(box.copied.tally.bytes == 3);
    CHECK(!box.copied.replaced);
    CHECK(file_content(box.at("x/y/b")) == "one");
    CHECK(mode_of(box.at("x/y/b")) == 0640);
    CHECK(file_content(box.at("a")) == "one");
    CHECK(info_of(box.at("a")).st_ino != info_of(box.at("x/y/b")).st_ino);
    CHECK(box.copy("s", "t").empty());
    CHECK(mode_of(box.at("t")) == 0755);
    CHECK(box.copy("a", "empty").empty());
  }
}

TEST_CASE("large, empty and sparse files are what they were") {
  for (const auto& features : {kAll, kNone}) {
    Place box(features);
    std::string content;
    while (content.size() < (3UL << 20)) {
      content += std::to_string(content.size()) + ' ';
    }
    put_file(box.at("large"), content);
    put_file(box.at("empty"), "");
    put_sparse(box.at("sparse"));
    CHECK(box.copy("large", "large2").empty());
    CHECK(file_content(box.at("large2")) == content);
    CHECK(box.copied.tally.bytes == content.size());
    CHECK(box.copy("empty", "empty2").empty());
    CHECK(info_of(box.at("empty2")).st_size == 0);
    CHECK(box.copy("sparse", "sparse2").empty());
    CHECK(file_content(box.at("sparse2")) == file_content(box.at("sparse")));
    // Where the file system knows holes, they stay such.
    CHECK(info_of(box.at("sparse2")).st_blocks <= info_of(box.at("sparse")).st_blocks + 64);
  }
}

TEST_CASE("what has the name is replaced only where that is asked for") {
  for (const auto& features : {kAll, kNone}) {
    Place box(features);
    put_file(box.at("a"), "one");
    put_file(box.at("b"), "two", 0600);
    put_file(box.at("d/x"), "");
    CHECK(box.copy("a", "b") == "EEXIST");
    CHECK(file_content(box.at("b")) == "two");
    CHECK(box.copy("a", "b", {.overwrite = true}).empty());
    CHECK(box.copied.replaced);
    CHECK(file_content(box.at("b")) == "one");
    CHECK(mode_of(box.at("b")) == 0644);
    CHECK(box.copy("a", "d", {.overwrite = true}) == "EISDIR");
    CHECK(box.copy("a", "./a", {.overwrite = true}) == "INVALID_ARGUMENT");
    CHECK(box.copy("nope", "c") == "ENOENT");
    CHECK(box.copy("nope", "new/c") == "ENOENT");
    CHECK(!exists(box.at("new")));
    CHECK(box.copy("a", ".agentbox-tmp-x") == "INVALID_ARGUMENT");
    CHECK(names_in(box.root.path()).size() == 3);
  }
}

TEST_CASE("links are copied as links, wherever they lead") {
  for (const auto& features : {kAll, kNone}) {
    Place box(features);
    put_file(box.outside.at("far"), "theirs");
    put_file(box.at("t"), "target");
    put_file(box.at("old"), "old");
    REQUIRE(::symlink(box.outside.at("far").c_str(), box.at("out").c_str()) == 0);
    REQUIRE(::symlink("t", box.at("in").c_str()) == 0);
    CHECK(box.copy("out", "copy").empty());
    CHECK(std::filesystem::read_symlink(box.at("copy")) == box.outside.at("far"));
    CHECK(box.copied.tally.files == 1);
    CHECK(box.copied.tally.bytes == 0);
    CHECK(box.copy("in", "old") == "EEXIST");
    CHECK(box.copy("in", "old", {.overwrite = true}).empty());
    CHECK(std::filesystem::read_symlink(box.at("old")) == "t");
    // A link that has the name goes itself; what it leads to stays.
    CHECK(box.copy("t", "out", {.overwrite = true}).empty());
    CHECK(!std::filesystem::is_symlink(box.at("out")));
    CHECK(file_content(box.outside.at("far")) == "theirs");
  }
}

TEST_CASE("a tree is copied whole") {
  for (const auto& features : {kAll, kNone}) {
    Place box(features);
    put_file(box.outside.at("far"), "theirs");
    put_file(box.at("d/a"), "12345", 0600);
    put_file(box.at("d/e/f/b"), "123", 0755);
    put_file(box.at("d/e/.agentbox-tmp-1"), "half");
    put_file(box.at("d/.hidden"), "h");
    REQUIRE(::mkdir(box.at("d/empty").c_str(), 01777) == 0);
    REQUIRE(::chmod(box.at("d/empty").c_str(), 01777) == 0);
    REQUIRE(::symlink(box.outside.path().c_str(), box.at("d/e/link").c_str()) == 0);
    REQUIRE(::chmod(box.at("d/e").c_str(), 0555) == 0);
    CHECK(box.copy("d", "c") == "EISDIR");
    CHECK(box.copy("d", "x/c", kTree).empty());
    CHECK(box.copied.tally.files == 4);
    CHECK(box.copied.tally.bytes == 9);
    CHECK(file_content(box.at("x/c/a")) == "12345");
    CHECK(mode_of(box.at("x/c/a")) == 0600);
    CHECK(file_content(box.at("x/c/e/f/b")) == "123");
    CHECK(mode_of(box.at("x/c/e")) == 0555);
    CHECK(mode_of(box.at("x/c/empty")) == 01777);
    CHECK(std::filesystem::read_symlink(box.at("x/c/e/link")) == box.outside.path());
    CHECK(!exists(box.at("x/c/e/.agentbox-tmp-1")));
    CHECK(names_in(box.at("x")).size() == 1);
    REQUIRE(::chmod(box.at("d/e").c_str(), 0755) == 0);
    REQUIRE(::chmod(box.at("x/c/e").c_str(), 0755) == 0);
  }
}

TEST_CASE("folders are never merged, nor copied into themselves") {
  for (const auto& features : {kAll, kNone}) {
    Place box(features);
    put_file(box.at("d/e/f"), "x");
    put_file(box.at("full/g"), "y");
    put_file(box.at("file"), "z");
    REQUIRE(::mkdir(box.at("empty").c_str(), 0755) == 0);
    REQUIRE(::symlink("d/e", box.at("back").c_str()) == 0);
    const CopyRequest over{.recursive = true, .overwrite = true};
    CHECK(box.copy("d", "full", kTree) == "EEXIST");
    CHECK(box.copy("d", "full", over) == "NOT_EMPTY");
    CHECK(box.copy("d", "file", over) == "ENOTDIR");
    CHECK(box.copy("d", "d/inside", kTree) == "INVALID_ARGUMENT");
    CHECK(box.copy("d", "d/e/inside", kTree) == "INVALID_ARGUMENT");
    CHECK(box.copy("d", "d/new/inside", kTree) == "INVALID_ARGUMENT");
    CHECK(box.copy("d", "back/inside", kTree) == "INVALID_ARGUMENT");
    CHECK(box.copy(".", "d/all", kTree) == "INVALID_ARGUMENT");
    CHECK(!exists(box.at("d/new")));
    CHECK(box.copy("d", "empty", over).empty());
    CHECK(file_content(box.at("empty/e/f")) == "x");
    CHECK(names_in(box.at("d")).size() == 1);
    CHECK(names_in(box.root.path()).size() == 5);
  }
}

TEST_CASE("special files are refused by name and nothing of their tree is copied") {
  for (const auto& features : {kAll, kNone}) {
    Place box(features);
    put_file(box.at("d/a"), "x");
    REQUIRE(::mkfifo(box.at("d/fifo").c_str(), 0600) == 0);
    REQUIRE(::mkdir(box.at("to").c_str(), 0755) == 0);
    CHECK(box.copy("d/fifo", "to/f") == "INVALID_ARGUMENT");
    CHECK(box.copy("d", "to/d", kTree) == "INVALID_ARGUMENT");
    CHECK(box.error.path == box.at("d/fifo"));
    CHECK(box.is_empty("to"));
  }
}

TEST_CASE("a copy leaves the workspace by no way") {
  for (const auto& features : {kAll, kNone}) {
    Place box(features);
    put_file(box.outside.at("f"), "theirs");
    put_file(box.at("a/f"), "ours");
    REQUIRE(::symlink(box.outside.path().c_str(), box.at("d").c_str()) == 0);
    CHECK(box.copy("d/f", "g") == "ESCAPE");
    CHECK(box.copy("a/f", "d/g") == "ESCAPE");
    CHECK(box.copy("a", "d/g", kTree) == "ESCAPE");
    CHECK(box.copy("../x", "g") == "ESCAPE");
    CHECK(box.copy("a/f", "../g") == "ESCAPE");
    CHECK(box.copy("a/f", ".") == "ROOT_REFUSED");
    CHECK(names_in(box.outside.path()).size() == 1);
    // The folder of command output is read from, and not written to.
    put_file(box.output.at("log"), "said");
    const auto from_output = copy_name(*box.workspace, {.root = Root::kOutput, .relative = "log"},
                                       {.relative = "log"}, {});
    REQUIRE(from_output.ok());
    CHECK(file_content(box.at("log")) == "said");
    const auto to_output = copy_name(*box.workspace, {.relative = "log"},
                                     {.root = Root::kOutput, .relative = "log2"}, {});
    REQUIRE(!to_output.ok());
    CHECK(to_output.error().code == "EROFS");
  }
}

TEST_CASE("a copy that is cancelled in the middle leaves nothing") {
  for (const auto& features : {kAll, kNone}) {
    Place box(features);
    for (int i = 0; i < 20; ++i) {
      put_file(box.at("d/sub" + std::to_string(i) + "/f"), "x");
      REQUIRE(::chmod(box.at("d/sub" + std::to_string(i)).c_str(), 0555) == 0);
    }
    put_file(box.at("large"), std::string(20UL << 20, 'x'));
    REQUIRE(::mkdir(box.at("to").c_str(), 0755) == 0);
    CHECK(box.copy("d", "to/new/d", {.recursive = true, .go_on = [](const CopyTally& done) {
                                       return done.files < 7;
                                     }}) == "CANCELLED");
    CHECK(box.is_empty("to"));
    CHECK(box.copy("large", "to/large", {.go_on = [](const CopyTally& done) {
                     return done.bytes == 0;
                   }}) == "CANCELLED");
    CHECK(box.is_empty("to"));
  }
}

TEST_CASE("a full disk ends a copy without a trace") {
  for (const auto& features : {kAll, kNone}) {
    Place box(features);
    REQUIRE(::mkdir(box.at("disk").c_str(), 0755) == 0);
    const SmallDisk disk(box.at("disk"));
    if (!disk.mounted()) {
      WARN("skipped: only root can mount the disk this test needs");
      return;
    }
    put_file(box.at("d/a"), std::string(100'000, 'a'));
    put_file(box.at("d/b/c"), std::string(100'000, 'b'));
    put_file(box.at("d/b/d"), std::string(100'000, 'c'));
    CHECK(box.copy("d", "disk/d", kTree) == "ENOSPC");
    CHECK(box.is_empty("disk"));
    put_file(box.at("large"), std::string(400'000, 'a'));
    CHECK(box.copy("large", "disk/large") == "ENOSPC");
    CHECK(box.is_empty("disk"));
    CHECK(box.copy("d/a", "disk/a").empty());
    CHECK(file_content(box.at("disk/a")) == std::string(100'000, 'a'));
  }
}

TEST_CASE("a tree that is too deep is refused, and its copy gone") {
  Place box(kAll);
  std::string path = "deep";
  for (std::size_t i = 0; i <= kMaxCopiedDepth; ++i) {
    path += "/d";
  }
  put_file(box.at(path + "/f"), "");
  CHECK(box.copy("deep", "copy", kTree) == "TOO_LARGE");
  CHECK(names_in(box.root.path()).size() == 1);
  CHECK(box.copy("deep/d", "copy", kTree).empty());
}

TEST_CASE("of copies to one name, one has it and the name is always whole") {
  for (const auto& features : {kAll, kNone}) {
    Place box(features);
    for (int i = 0; i < 4; ++i) {
      put_file(box.at("d" + std::to_string(i) + "/f"), std::to_string(i));
    }
    std::atomic<int> won = 0;
    std::vector<std::thread> copies;
    for (int i = 0; i < 4; ++i) {
      copies.emplace_back([&, i] {
        won += copy_name(*box.workspace, {.relative = "d" + std::to_string(i)}, {.relative = "to"},
                         kTree)
                       .ok()
                   ? 1
                   : 0;
      });
    }
    for (std::thread& copy : copies) {
      copy.join();
    }
    CHECK(won == 1);
    CHECK(file_content(box.at("to/f")).size() == 1);
    CHECK(names_in(box.root.path()).size() == 5);
  }
}

TEST_CASE("what a killed copy left is removed at the next start") {
  Place box(kAll);
  put_file(box.at("d/.agentbox-tmp-0123/sub/f"), "half");
  REQUIRE(::chmod(box.at("d/.agentbox-tmp-0123/sub").c_str(), 0) == 0);
  REQUIRE(::chmod(box.at("d/.agentbox-tmp-0123").c_str(), 0555) == 0);
  put_file(box.at("d/keep"), "mine");
  CHECK(remove_temporaries(box.workspace->folder(), ::time(nullptr) - 60) == 0);
  CHECK(exists(box.at("d/.agentbox-tmp-0123")));
  CHECK(remove_temporaries(box.workspace->folder(), ::time(nullptr) + 60) == 1);
  CHECK(names_in(box.at("d")) == std::vector<std::string>{"keep"});
}

TEST_CASE("the tool says what was copied and tells progress") {
  ToolFixture box;
  put_file(box.at("d/a"), "12345");
  CHECK(box.text(copy_file_tool(), R"({"source":"d","destination":"e","recursive":true})") ==
        "source: " + box.at("d") + "\ndestination: " + box.at("e") +
            "\nfiles_copied: 1\nbytes_copied: 5\n");
  CHECK(box.code(copy_file_tool(), R"({"source":"d","destination":"e"})") == "EISDIR");
  const auto replaced =
      box.structured(copy_file_tool(), R"({"source":"d/a","destination":"e/a","overwrite":true})");
  CHECK(replaced["replaced"] == true);
  CHECK(box.facts().bytes_in == 5);
}
