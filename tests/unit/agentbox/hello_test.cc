// pure: telling an MCP client from something else.
#include "agentbox/hello.h"

#include "agentbox/limits.h"
#include "support/catch.h"

using namespace agentbox::mcp;

namespace {

constexpr TimePoint kStart{};

Line line_of(std::string_view text) { return Line{.text = text}; }

}  // namespace

TEST_CASE("ten lines that are not JSON end a session that has not begun") {
  HelloGuard guard(kStart);
  for (std::size_t i = 0; i + 1 < kHelloMaxLines; ++i) {
    guard.on_line(line_of("ls -l"), false);
    CHECK_FALSE(guard.verdict("", kStart));
  }
  guard.on_line(line_of("exit"), false);
  REQUIRE(guard.verdict("", kStart));
  CHECK(guard.verdict("", kStart)->find("10 lines") != std::string::npos);
}

TEST_CASE("lines that begin like JSON are not counted as lines but their bytes are") {
  HelloGuard guard(kStart);
  for (int i = 0; i < 20; ++i) {
    guard.on_line(line_of("  {not json"), false);
    guard.on_line(line_of("[1"), false);
  }
  CHECK_FALSE(guard.verdict("", kStart));
  const std::string long_line = "{" + std::string(kHelloMaxBytes, 'x');
  guard.on_line(line_of(long_line), false);
  CHECK(guard.verdict("", kStart));
}

TEST_CASE("an endless line ends the session unless it begins like a message") {
  const HelloGuard guard(kStart);
  const std::string junk(kHelloMaxBytes, 'C');
  CHECK(guard.verdict(junk, kStart));
  CHECK_FALSE(guard.verdict("{" + junk, kStart));
}

TEST_CASE("silence ends the session after its time") {
  const HelloGuard guard(kStart);
  REQUIRE(guard.deadline());
  CHECK_FALSE(guard.verdict("", *guard.deadline() - std::chrono::milliseconds(1)));
  CHECK(guard.verdict("", *guard.deadline()));
}

TEST_CASE("after the first valid message nothing of this holds any more") {
  HelloGuard guard(kStart);
  guard.on_line(line_of("{}"), true);
  for (int i = 0; i < 50; ++i) {
    guard.on_line(line_of("ls"), true);
  }
  CHECK_FALSE(guard.deadline());
  CHECK_FALSE(guard.verdict(std::string(kHelloMaxBytes, 'C'), kStart + 2 * kHelloTime));
}
