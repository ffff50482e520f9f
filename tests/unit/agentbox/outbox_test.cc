// edge: what waits to be sent, in which order it leaves, and what can still be taken back.
#include "agentbox/outbox.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>

#include "agentbox/limits.h"
#include "base/handle.h"
#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::mcp;

namespace {

Actions reply(const std::string& id, const std::string& text) {
  Actions actions;
  actions.emplace_back(SendLine{.line = text, .reply_to = id});
  return actions;
}

Actions audited(const std::string& id, const std::string& text) {
  Actions actions;
  record::ToolCalled told;
  told.tool = "t";
  told.outcome = "ok";
  actions.emplace_back(SendRecord{std::move(told)});
  actions.emplace_back(SendLine{.line = text, .reply_to = id});
  return actions;
}

// A socket that takes few bytes at a time, and what came out at its other end.
class Reader {
 public:
  Reader() {
    auto pair = make_socketpair(SOCK_STREAM | SOCK_NONBLOCK);
    REQUIRE(pair.ok());
    const int small = 4096;
    REQUIRE(::setsockopt(pair->first.get(), SOL_SOCKET, SO_SNDBUF, &small, sizeof small) == 0);
    ours_ = std::move(pair->first);
    theirs_ = std::move(pair->second);
  }
  // Once, without reading.
  void fill(Outbox& outbox) const { REQUIRE(outbox.write_lines(ours_.get(), true).ok()); }
  // Until the outbox has nothing left to write.
  std::string drain(Outbox& outbox) {
    std::string text;
    do {
      fill(outbox);
      std::array<char, 65536> piece;
      for (ssize_t got = 0; (got = ::read(theirs_.get(), piece.data(), piece.size())) > 0;) {
        text.append(piece.data(), static_cast<std::size_t>(got));
      }
    } while (outbox.has_lines());
    return text;
  }

 private:
  UniqueFd ours_;
  UniqueFd theirs_;
};

}  // namespace

TEST_CASE("a reply that waits is taken back, what was begun is sent whole [21]") {
  Outbox outbox;
  Reader reader;
  const std::string large(100'000, 'x');
  auto actions = reply("1", large);
  outbox.add(actions);
  for (const char* const id : {"2", "3", "\"2\""}) {
    actions = reply(id, id);
    outbox.add(actions);
  }
  reader.fill(outbox);  // the first line is under way now
  const std::size_t before = outbox.bytes();
  outbox.withdraw("1");
  CHECK(outbox.bytes() == before);
  outbox.withdraw("2");
  CHECK(outbox.bytes() == before - 2);
  outbox.withdraw("2");
  outbox.withdraw("never");
  CHECK(reader.drain(outbox) == large + "\n3\n\"2\"\n");
  CHECK(outbox.bytes() == 0);
  outbox.withdraw("3");
  CHECK(outbox.empty());
}

TEST_CASE("when all that waits is taken back nothing is left to write") {
  Outbox outbox;
  Reader reader;
  for (const char* const id : {"1", "2"}) {
    auto actions = reply(id, id);
    outbox.add(actions);
  }
  outbox.withdraw("2");
  outbox.withdraw("1");
  CHECK(outbox.bytes() == 0);
  CHECK_FALSE(outbox.has_lines());
  auto actions = reply("2", "again");
  outbox.add(actions);
  CHECK(reader.drain(outbox) == "again\n");
}

TEST_CASE("a reply that waits for the door counts, and is taken back without it") {
  Outbox outbox;
  Reader reader;
  auto actions = audited("1", "one");
  outbox.add(actions);
  actions = audited("2", "two");
  outbox.add(actions);
  CHECK_FALSE(outbox.has_lines());
  CHECK(outbox.bytes() == 8);
  outbox.withdraw("1");
  CHECK(outbox.bytes() == 4);
  CHECK(outbox.has_records());
  REQUIRE(outbox.send_records(-1).ok());
  CHECK(reader.drain(outbox) == "two\n");
  CHECK(outbox.bytes() == 0);
}

TEST_CASE("notices are left out while much waits, replies never are [H3-006]") {
  Outbox outbox;
  auto actions = reply("1", std::string(kOutputDropsNoticesBytes + 1, 'x'));
  outbox.add(actions);
  const std::size_t before = outbox.bytes();
  Actions notice;
  notice.emplace_back(SendLine{.line = "progress", .droppable = true});
  outbox.add(notice);
  CHECK(outbox.bytes() == before);
  actions = reply("2", "two");
  outbox.add(actions);
  CHECK(outbox.bytes() == before + 4);
}
