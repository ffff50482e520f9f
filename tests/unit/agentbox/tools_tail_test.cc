// edge: tail_log: what a growing, shrinking or replaced file says.
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "agentbox/follower.h"
#include "base/text.h"
#include "support/catch.h"
#include "unit/agentbox/tool_fixture.h"

using namespace agentbox;
using namespace agentbox::mcp;
using namespace agentbox::test;
using namespace std::chrono_literals;

namespace {

constexpr KernelFeatures kAll{.openat2 = true, .unnamed_files = true, .inotify = true};
constexpr KernelFeatures kNone{};

void add_to_file(const std::string& path, std::string_view content) {
  std::ofstream(path, std::ios::binary | std::ios::app) << content;
}

// Long enough for any machine; nothing waits so long unless it is broken.
constexpr std::chrono::milliseconds kPatience = 50s;

struct Log {
  TemporaryFolder root;
  std::unique_ptr<Workspace> workspace;

  explicit Log(const KernelFeatures& features) {
    auto opened = Workspace::open({.workspace = root.path(), .output = {}, .features = features});
    REQUIRE(opened.ok());
    workspace = std::move(*opened);
  }
  [[nodiscard]] std::string path() const { return root.at("log"); }
  [[nodiscard]] Followed follow(const FollowRequest& request) const {
    auto result = follow_file(*workspace, {.relative = "log"}, request);
    REQUIRE(result.ok());
    return std::move(*result);
  }
};

Pattern pattern(std::string_view text) { return Pattern::compile(text).value(); }

}  // namespace

TEST_CASE("following for no time returns what is there at once") {
  ToolFixture box;
  put_file(box.at("log"), "one\ntwo\n");
  CHECK(box.text(tail_log_tool(), R"({"path":"log","start_offset":4,"follow_seconds":0})") ==
        "path: " + box.at("log") +
            "\nstart_offset: 4\nend_offset: 8\nbytes_returned: 4\ntruncated: false\n"
            "follow_seconds: 0\n--- content ---\ntwo\n");
  const auto json = box.structured(tail_log_tool(), R"({"path":"log","follow_seconds":0})");
  CHECK(json["start_offset"] == 8);
  CHECK(json["end_offset"] == 8);
  CHECK(json["content"] == "");
  CHECK(json["follow_seconds"] == 0);
  CHECK(json["encoding"] == "utf-8");
}

TEST_CASE("what a file gains while it is followed is seen, also without the kernel's notice") {
  for (const auto& features : {kAll, kNone}) {
    Log log(features);
    put_file(log.path(), "old\n");
    FollowRequest request{
        .start = 0, .time = kPatience, .max_bytes = 1000, .until = pattern("^done$")};
    int rounds = 0;
    request.progress = [&](std::uint64_t /*bytes*/, std::string_view line) {
      if (rounds++ == 0) {
        CHECK(line == "old");
        add_to_file(log.path(), "more\nnot done\ndo");
      } else if (rounds == 2) {
        CHECK(line == "do");
        add_to_file(log.path(), "ne\nrest\n");
      }
    };
    const Followed followed = log.follow(request);
    CHECK(followed.matched);
    CHECK(followed.bytes == "old\nmore\nnot done\ndone\nrest\n");
    CHECK(followed.start == 0);
    CHECK(followed.end == followed.bytes.size());
    CHECK(!followed.rotated);
  }
}

TEST_CASE("a file replaced under its name is followed into its successor") {
  for (const auto& features : {kAll, kNone}) {
    Log log(features);
    put_file(log.path(), "old\n");
    FollowRequest request{
        .start = 0, .time = kPatience, .max_bytes = 1000, .until = pattern("done")};
    bool first = true;
    request.progress = [&](std::uint64_t /*bytes*/, std::string_view /*line*/) {
      if (std::exchange(first, false)) {
        add_to_file(log.path(), "last words\n");
        REQUIRE(::rename(log.path().c_str(), log.root.at("log.1").c_str()) == 0);
        put_file(log.path(), "new, done\n");
      }
    };
    const Followed followed = log.follow(request);
    CHECK(followed.rotated);
    CHECK(followed.bytes == "old\nlast words\nnew, done\n");
    CHECK(followed.end == std::string_view("new, done\n").size());
  }
}

TEST_CASE("a file cut off is read from its beginning again") {
  for (const auto& features : {kAll, kNone}) {
    Log log(features);
    put_file(log.path(), "a long first line\n");
    FollowRequest request{
        .start = 0, .time = kPatience, .max_bytes = 1000, .until = pattern("done")};
    bool first = true;
    request.progress = [&](std::uint64_t /*bytes*/, std::string_view /*line*/) {
      if (std::exchange(first, false)) {
        put_file(log.path(), "done\n");
      }
    };
    const Followed followed = log.follow(request);
    CHECK(followed.rotated);
    CHECK(followed.bytes == "a long first line\ndone\n");
    CHECK(followed.end == 5);
    const Followed later = log.follow({.start = 100, .max_bytes = 1000});
    CHECK(later.rotated);
    CHECK(later.start == 0);
    CHECK(later.bytes == "done\n");
  }
}

TEST_CASE("a name that becomes a link out of the workspace is not followed there") {
  for (const auto& features : {kAll, kNone}) {
    Log log(features);
    TemporaryFolder outside;
    put_file(outside.at("secret"), "done: secret\n");
    put_file(log.path(), "x\n");
    FollowRequest request{.start = 0, .time = 700ms, .max_bytes = 1000, .until = pattern("done")};
    request.progress = [&](std::uint64_t /*bytes*/, std::string_view /*line*/) {
      (void)::unlink(log.path().c_str());
      (void)!::symlink(outside.at("secret").c_str(), log.path().c_str());
    };
    const Followed followed = log.follow(request);
    CHECK(followed.bytes == "x\n");
    CHECK(!followed.matched);
  }
}

TEST_CASE("at most so many bytes come back, none of them half a character") {
  Log log(kAll);
  put_file(log.path(), "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac");
  const Followed cut = log.follow({.start = 0, .time = kPatience, .max_bytes = 7});
  CHECK(cut.truncated);
  CHECK(cut.bytes == "\xe2\x82\xac\xe2\x82\xac");
  CHECK(cut.end == 6);
  const Followed rest = log.follow({.start = cut.end, .max_bytes = 7});
  CHECK(!rest.truncated);
  CHECK(rest.bytes == "\xe2\x82\xac");
  const Followed exact = log.follow({.start = 0, .time = kPatience, .max_bytes = 9});
  CHECK(!exact.truncated);
  CHECK(exact.end == 9);
  put_file(log.path(), "\xe2\x82");
  CHECK(log.follow({.start = 0, .max_bytes = 7}).bytes == "\xe2\x82");
}

TEST_CASE("a cancelled follow ends at once") {
  for (const auto& features : {kAll, kNone}) {
    Log log(features);
    put_file(log.path(), "x");
    const UniqueFd cancel(::eventfd(0, EFD_CLOEXEC));
    std::thread canceller([&] { (void)::eventfd_write(cancel.get(), 1); });
    const auto begun = std::chrono::steady_clock::now();
    const Followed followed =
        log.follow({.time = kPatience, .max_bytes = 10, .cancel_fd = cancel.get()});
    canceller.join();
    CHECK(followed.bytes.empty());
    CHECK(std::chrono::steady_clock::now() - begun < kPatience);
  }
}

TEST_CASE("bytes that are no text come as base64, escapes are shown or left out") {
  ToolFixture box;
  put_file(box.at("b"), "\xff\xfe\x01");
  const auto binary =
      box.structured(tail_log_tool(), R"({"path":"b","start_offset":0,"follow_seconds":0})");
  CHECK(binary["encoding"] == "base64");
  CHECK(base64_decode(binary["content"].get<std::string>()).value() == "\xff\xfe\x01");

  put_file(box.at("c"), "\x1b[31mred\x1b[0m\n");
  const std::string arguments = R"({"path":"c","start_offset":0,"follow_seconds":0)";
  CHECK(box.structured(tail_log_tool(), arguments + "}")["content"] == "\x1b[31mred\x1b[0m\n");
  CHECK(box.text(tail_log_tool(), arguments + "}").ends_with("\\u{1b}[31mred\\u{1b}[0m\n"));
  const auto plain = box.structured(tail_log_tool(), arguments + R"(,"strip_ansi":true})");
  CHECK(plain["content"] == "red\n");
  CHECK(plain["bytes_returned"] == 13);
  CHECK(plain["end_offset"] == 13);
}

TEST_CASE("a follow that cannot work says why") {
  ToolFixture box;
  put_file(box.at("f"), "x");
  REQUIRE(::mkfifo(box.at("fifo").c_str(), 0600) == 0);
  CHECK(box.code(tail_log_tool(), R"({"path":"nope"})") == "ENOENT");
  CHECK(box.code(tail_log_tool(), R"({"path":"."})") == "EISDIR");
  CHECK(box.code(tail_log_tool(), R"({"path":"fifo"})") == "INVALID_ARGUMENT");
  CHECK(box.code(tail_log_tool(), R"({"path":"/etc/hostname"})") == "ESCAPE");
  CHECK(box.code(tail_log_tool(), R"({"path":"f","until":"("})") == "BAD_PATTERN");
  CHECK(box.code(tail_log_tool(), R"({"path":"f","follow_seconds":61})") == "INVALID_ARGUMENT");
  put_file(box.output() + "/1", "spilled\n");
  CHECK(box.structured(tail_log_tool(),
                       R"({"path":")" + box.output() +
                           R"(/1","start_offset":0,"follow_seconds":0})")["content"] ==
        "spilled\n");
}
