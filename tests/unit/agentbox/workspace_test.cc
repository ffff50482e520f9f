// edge: the door to files, with the kernel's help and without it.
#include "agentbox/workspace.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "agentbox/box_path.h"
#include "agentbox/file_bytes.h"
#include "support/catch.h"
#include "unit/agentbox/temporary_folder.h"

using namespace agentbox;
using namespace agentbox::mcp;
using namespace agentbox::test;

namespace {

// Every test runs with all kernel features and with none.
constexpr KernelFeatures kAll{.openat2 = true, .unnamed_files = true};
constexpr KernelFeatures kNone{};

struct Fixture {
  TemporaryFolder outside;
  TemporaryFolder root;
  TemporaryFolder output;
  std::unique_ptr<Workspace> workspace;

  explicit Fixture(const KernelFeatures& features) {
    auto opened =
        Workspace::open({.workspace = root.path(), .output = output.path(), .features = features});
    REQUIRE(opened.ok());
    workspace = std::move(*opened);
  }

  // The file's content, or the error's code.
  std::string read(const std::string& given) const {
    const auto path = workspace->parse(given);
    if (!path.ok()) {
      return path.error().code;
    }
    const auto file = workspace->open_file(*path);
    if (!file.ok()) {
      return file.error().code;
    }
    return read_at(file->fd.get(), 0, 1000).value();
  }
};

}  // namespace

TEST_CASE("a path is taken relative, absolute inside the root, or by the common name") {
  for (const auto& features : {kAll, kNone}) {
    Fixture box(features);
    put_file(box.root.at("a/b.txt"), "hello");
    for (const std::string& given :
         {std::string("a/b.txt"), std::string("./a//b.txt"), std::string("a/../a/b.txt"),
          box.root.at("a/b.txt"), std::string("/workspace/a/b.txt"),
          std::string("\"a/\\142.txt\"")}) {
      CAPTURE(given);
      CHECK(box.read(given) == "hello");
    }
  }
}

TEST_CASE("a path that leaves the root by its own words is refused") {
  for (const auto& features : {kAll, kNone}) {
    Fixture box(features);
    put_file(box.root.at("a/b"), "x");
    for (const char* given :
         {"/etc/passwd", "../x", "a/../../x", "..", "a/../..", "/workspacefoo/x"}) {
      CAPTURE(given);
      CHECK(box.read(given) == "ESCAPE");
    }
    CHECK(box.read(std::string("a\0b", 3)) == "INVALID_ARGUMENT");
    CHECK(box.read("") == "INVALID_ARGUMENT");
    CHECK(box.read(std::string(5000, 'x')) == "ENAMETOOLONG");
  }
}

TEST_CASE("links out of the root are refused and links that stay inside work") {
  for (const auto& features : {kAll, kNone}) {
    Fixture box(features);
    put_file(box.outside.at("pin.txt"), "secret");
    put_file(box.root.at("dir/in.txt"), "inside");
    const auto link = [&](const std::string& target, const std::string& name) {
      REQUIRE(::symlink(target.c_str(), box.root.at(name).c_str()) == 0);
    };
    link(box.outside.at("pin.txt"), "a");
    link(box.outside.path(), "d");
    link("../" + box.outside.path().substr(5) + "/pin.txt", "up");
    link("/proc/self/root", "magic");
    link("dir/in.txt", "good");
    link(box.root.at("dir"), "absolute");
    link("../good", "dir/back");
    link("loop", "loop");
    for (const char* given : {"a", "d/pin.txt", "up", "magic/etc/passwd"}) {
      CAPTURE(given);
      CHECK(box.read(given) == "ESCAPE");
    }
    CHECK(box.read("good") == "inside");
    CHECK(box.read("absolute/in.txt") == "inside");
    CHECK(box.read("dir/back") == "inside");
    CHECK(box.read("loop") == "ELOOP");
    CHECK(box.read("missing") == "ENOENT");
    CHECK(box.read("good/x") == "ENOTDIR");
    CHECK(box.read("dir") == "EISDIR");
    const auto folder = box.workspace->open_folder({.relative = "d"});
    REQUIRE(!folder.ok());
    CHECK(folder.error().code == "ESCAPE");
  }
}

TEST_CASE("FIFOs, sockets and devices are refused at once") {
  for (const auto& features : {kAll, kNone}) {
    Fixture box(features);
    REQUIRE(::mkfifo(box.root.at("fifo").c_str(), 0600) == 0);
    const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    box.root.at("socket").copy(name.sun_path, sizeof(name.sun_path) - 1);
    REQUIRE(::bind(socket, reinterpret_cast<sockaddr*>(&name), sizeof(name)) == 0);
    ::close(socket);
    CHECK(box.read("fifo") == "INVALID_ARGUMENT");
    CHECK(box.read("socket") == "INVALID_ARGUMENT");
    if (::mknod(box.root.at("null").c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0) {
      CHECK(box.read("null") == "INVALID_ARGUMENT");
    }
  }
}

TEST_CASE("the output folder is read by its absolute name and never written") {
  for (const auto& features : {kAll, kNone}) {
    Fixture box(features);
    put_file(box.output.at("run/1"), "spilled");
    CHECK(box.read(box.output.at("run/1")) == "spilled");
    CHECK(box.read(box.output.path() + "/../x") == "ESCAPE");
    const auto leaf =
        box.workspace->find_leaf(*box.workspace->parse(box.output.at("new")), nullptr);
    REQUIRE(!leaf.ok());
    CHECK(leaf.error().code == "EROFS");
  }
}

TEST_CASE("a file swapped for a link to the outside is never read through") {
  for (const auto& features : {kAll, kNone}) {
    Fixture box(features);
    put_file(box.outside.at("v"), "secret");
    put_file(box.root.at("real/v"), "inside");
    std::atomic<bool> stop = false;
    std::thread attacker([&] {
      const std::string name = box.root.at("d");
      while (!stop.load()) {
        (void)!::symlink("real", name.c_str());
        (void)::unlink(name.c_str());
        (void)!::symlink(box.outside.path().c_str(), name.c_str());
        (void)::unlink(name.c_str());
        (void)::mkdir(name.c_str(), 0700);
        (void)::rmdir(name.c_str());
      }
    });
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    std::size_t read = 0;
    std::size_t leaked = 0;
    while (std::chrono::steady_clock::now() < end || (read == 0 && leaked == 0)) {
      const std::string got = box.read("d/v");
      leaked += got == "secret" ? 1U : 0U;
      read += got == "inside" ? 1U : 0U;
    }
    stop = true;
    attacker.join();
    CHECK(leaked == 0);
    CHECK(read > 0);
  }
}

TEST_CASE(
    "a write goes to the target of a link that stays inside, and nowhere through one that does "
    "not") {
  for (const auto& features : {kAll, kNone}) {
    Fixture box(features);
    put_file(box.root.at("dir/t"), "x");
    REQUIRE(::symlink("dir/t", box.root.at("in").c_str()) == 0);
    REQUIRE(::symlink("dir/fresh", box.root.at("dangling").c_str()) == 0);
    REQUIRE(::symlink(box.outside.at("new").c_str(), box.root.at("out").c_str()) == 0);
    const auto in = box.workspace->find_leaf({.relative = "in"}, nullptr);
    REQUIRE(in.ok());
    CHECK(in->name == "t");
    CHECK(in->exists);
    const auto dangling = box.workspace->find_leaf({.relative = "dangling"}, nullptr);
    REQUIRE(dangling.ok());
    CHECK(dangling->name == "fresh");
    CHECK(!dangling->exists);
    const auto out = box.workspace->find_leaf({.relative = "out"}, nullptr);
    REQUIRE(!out.ok());
    CHECK(out.error().code == "ESCAPE");
    CHECK(box.workspace->find_leaf({.relative = "dir/"}, nullptr).error().code == "EISDIR");
    CHECK(box.workspace->find_leaf({.relative = "."}, nullptr).error().code == "EISDIR");
  }
}

TEST_CASE("names survive quoting and unquoting, whatever bytes they are") {
  for (const std::string& name :
       {std::string("plain name"), std::string("tab\there"), std::string("\xff\xfe"),
        std::string("a\"b"), std::string("\"quoted\""), std::string("new\nline"),
        std::string("back\\slash"), std::string("\xe2\x80\xae bidi"), std::string("h\xc3\xa9"),
        std::string("back\\slash\x1b[31m")}) {
    const std::string quoted = quote_name(name);
    CAPTURE(quoted);
    const auto path = parse_box_path(quoted, {.workspace = {"/w"}, .output = {}});
    REQUIRE(path.ok());
    CHECK(path->relative == name);
  }
  CHECK(quote_name("back\\slash") == "back\\slash");
  CHECK(quote_name("a\tb") == "\"a\\tb\"");
  CHECK(quote_name("\xff") == "\"\\377\"");
  CHECK(!unquote_name("\"a\\q\"").ok());
  CHECK(!unquote_name("\"a").ok());
  CHECK(!unquote_name("\"a\"b\"").ok());
  CHECK(!unquote_name("\"\\777\"").ok());
}
