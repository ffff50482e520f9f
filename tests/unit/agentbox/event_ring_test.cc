// pure: numbers of changes, what a ring still has of them, and cursors.
#include "agentbox/event_ring.h"

#include <string>

#include "agentbox/watch_filter.h"
#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::mcp;

namespace {

constexpr std::size_t kPlenty = 1'000'000;

FileChange change(const std::string& path) { return {.op = ChangeOp::kModify, .path = path}; }

WatchFilter filter(const std::vector<std::string>& include,
                   const std::vector<std::string>& exclude) {
  auto compiled = WatchFilter::compile(include, exclude);
  REQUIRE(compiled.ok());
  return std::move(*compiled);
}

const std::string kId = "0123456789abcdef0123456789abcdef";

}  // namespace

TEST_CASE("changes are numbered from one, and read from any number on") {
  EventRing ring;
  CHECK(ring.last() == 0);
  CHECK(ring.after(0, 10, kPlenty).changes.empty());
  for (const char* const path : {"a", "b", "c"}) {
    ring.add(change(path));
  }
  const auto all = ring.after(0, 10, kPlenty);
  REQUIRE(all.changes.size() == 3);
  CHECK(all.changes[0].seq == 1);
  CHECK(all.changes[0].change.path == "a");
  CHECK(all.changes[2].seq == 3);
  CHECK(all.next == 3);
  CHECK_FALSE(all.lost);
  const auto some = ring.after(1, 1, kPlenty);
  REQUIRE(some.changes.size() == 1);
  CHECK(some.changes[0].change.path == "b");
  CHECK(some.next == 2);
  CHECK(ring.after(3, 10, kPlenty).changes.empty());
  CHECK(ring.after(3, 10, kPlenty).next == 3);
}

TEST_CASE("a reader who stayed away too long is told that changes are lost") {
  EventRing ring(3);
  for (int i = 1; i <= 5; ++i) {
    ring.add(change(std::to_string(i)));
  }
  const auto lost = ring.after(1, 10, kPlenty);
  CHECK(lost.lost);
  CHECK(lost.changes.empty());
  CHECK(lost.next == 5);
  const auto kept = ring.after(2, 10, kPlenty);
  CHECK_FALSE(kept.lost);
  REQUIRE(kept.changes.size() == 3);
  CHECK(kept.changes[0].seq == 3);
}

TEST_CASE("a piece has at most so many bytes of paths, but always one change") {
  EventRing ring;
  ring.add(change(std::string(100, 'a')));
  ring.add(change(std::string(100, 'b')));
  CHECK(ring.after(0, 10, 200).changes.size() == 2);
  CHECK(ring.after(0, 10, 199).changes.size() == 1);
  CHECK(ring.after(0, 10, 1).changes.size() == 1);
  CHECK(ring.after(0, 10, 1).next == 1);
}

TEST_CASE("long paths make a ring shorter, not larger") {
  EventRing ring;
  const std::string path(4096, 'p');
  for (std::size_t i = 0; i < kMaxRingBytes / path.size() + 10; ++i) {
    ring.add(change(path));
  }
  CHECK(ring.after(0, 10, kPlenty).lost);
  CHECK_FALSE(ring.after(10, 10, kPlenty).lost);
}

TEST_CASE("a cursor comes back as it was, and nothing else is one") {
  const auto cursor = decode_cursor(encode_cursor({.watch = kId, .seq = 42}));
  REQUIRE(cursor.ok());
  CHECK(cursor->watch == kId);
  CHECK(cursor->seq == 42);
  for (const std::string& text :
       {std::string(), std::string("."), kId, kId + ".", kId + ".-1", kId + ".01", kId + ".1 ",
        kId + ".9007199254740992", kId.substr(1) + ".1", "x" + kId.substr(1) + ".1", kId + ".1.1",
        " " + kId + ".1"}) {
    INFO(text);
    CHECK_FALSE(decode_cursor(text).ok());
  }
}

TEST_CASE("operations have names") {
  for (const auto op : {ChangeOp::kCreate, ChangeOp::kModify, ChangeOp::kDelete, ChangeOp::kMove,
                        ChangeOp::kAttrib, ChangeOp::kOverflow}) {
    CHECK(change_op_of(change_op_name(op)) == op);
  }
  CHECK_FALSE(change_op_of("rename"));
}

TEST_CASE("a filter shows what is included and not excluded") {
  CHECK(WatchFilter().shows("any/thing"));
  CHECK(WatchFilter().enters("any"));
  const WatchFilter sources = filter({"**/*.cc", "docs/**"}, {"**/gen/**", "docs/old"});
  CHECK(sources.shows("a.cc"));
  CHECK(sources.shows("docs/x/y"));
  CHECK_FALSE(sources.shows("a.h"));
  CHECK_FALSE(sources.shows("src/gen/a.cc"));
  CHECK_FALSE(sources.shows("docs/old"));
}

TEST_CASE("a folder of which everything is excluded is not entered") {
  const WatchFilter some = filter({}, {"**/node_modules/**", "build", "*.tmp/**", "a/**/z"});
  CHECK_FALSE(some.enters("node_modules"));
  CHECK_FALSE(some.enters("web/node_modules"));
  CHECK_FALSE(some.enters("web/node_modules/x"));
  CHECK(some.shows("node_modules"));
  CHECK_FALSE(some.enters("build"));
  CHECK_FALSE(some.enters("x.tmp"));
  CHECK(some.enters("a"));
  CHECK(some.enters("a/b"));
  CHECK(some.enters("web"));
}

TEST_CASE("a filter that asks where a name lies is known as one") {
  CHECK(WatchFilter().holds_anywhere());
  CHECK(filter({}, default_excludes()).holds_anywhere());
  CHECK(filter({}, {"**/*.o"}).holds_anywhere());
  CHECK_FALSE(filter({}, {"build/**"}).holds_anywhere());
  CHECK_FALSE(filter({}, {"**/a/b"}).holds_anywhere());
  CHECK_FALSE(filter({"**/*.cc"}, {}).holds_anywhere());
}

TEST_CASE("what is no pattern is refused") {
  const auto wrong = WatchFilter::compile({"["}, {});
  REQUIRE_FALSE(wrong.ok());
  CHECK(wrong.error().code == "BAD_PATTERN");
  CHECK_FALSE(WatchFilter::compile({}, {std::string(kMaxWatchPatternBytes + 1, 'a')}).ok());
}
