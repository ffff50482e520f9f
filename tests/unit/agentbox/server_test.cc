// edge: the server over real descriptors.
#include "agentbox/server.h"

#include <fcntl.h>

#include <set>

#include "base/text.h"
#include "server_fixture.h"

using namespace agentbox;
using namespace agentbox::mcp;
using namespace agentbox::mcp::test;
using namespace std::chrono_literals;

namespace {

std::size_t open_descriptors() {
  std::size_t count = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    count += ::fcntl(fd, F_GETFD) >= 0 ? 1U : 0U;
  }
  return count;
}

}  // namespace

TEST_CASE("a slow call delays neither ping nor another call [24] [H3-012]") {
  Running running;
  Client& client = running.client();
  client.shake_hands();
  client.say(call(1, "wait"));
  running.wait_for_running(1);
  client.say(ping(2));
  CHECK(is_reply_to(client.read_line(), 2));
  client.say(call(3, "measure", R"({"text":"abc"})"));
  CHECK(is_reply_to(client.read_line(), 3));
  running.box().open_gate();
  CHECK(is_reply_to(client.read_line(), 1));
}

TEST_CASE("after the end of input everything asked is still answered [39]") {
  for (const auto kind : {Running::Kind::kSocket, Running::Kind::kPipes}) {
    Running running({}, kind);
    Client& client = running.client();
    client.shake_hands();
    std::string lines;
    for (int id = 1; id <= 100; ++id) {
      lines += call(id, "measure", R"({"text":"abcd"})") + "\n" + ping(1000 + id) + "\n";
    }
    client.send(lines + ping(5000));  // the last line has no end
    client.end_input();
    std::set<std::string> replies;
    for (std::string line = client.read_line(); !line.empty(); line = client.read_line()) {
      replies.insert(line);
    }
    CHECK(replies.size() == 201);
    CHECK(running.exit_code() == kExitOk);
  }
}

TEST_CASE("a call that outlives the end of input is answered and stopped [39]") {
  Running running(Patience{.end_of_input = 20ms});
  Client& client = running.client();
  client.shake_hands();
  client.say(call(1, "wait"));
  running.wait_for_running(1);
  client.end_input();
  const std::string line = client.read_line();
  CHECK(is_reply_to(line, 1));
  CHECK(line.find("wait: SHUTTING_DOWN: ") != std::string::npos);
  CHECK(client.read_line().empty());
  CHECK(running.exit_code() == kExitOk);
  CHECK(running.box().cancelled == 1);
  CHECK_FALSE(running.calls_left());
}

TEST_CASE("when the link is lost calls are cancelled at once") {
  for (const auto kind : {Running::Kind::kSocket, Running::Kind::kPipes}) {
    Running running({}, kind);
    running.client().shake_hands();
    running.client().say(call(1, "wait"));
    running.wait_for_running(1);
    running.client().close();
    CHECK(running.exit_code() == kExitOk);
    CHECK(running.box().cancelled == 1);
  }
}

TEST_CASE("a link lost after the end of input ends the wait for calls") {
  Running running;
  running.client().shake_hands();
  running.client().say(call(1, "wait"));
  running.wait_for_running(1);
  running.client().end_input();
  running.client().close();
  CHECK(running.exit_code() == kExitOk);
  CHECK(running.box().cancelled == 1);
}

TEST_CASE("SIGTERM lets calls finish and starts no new ones") {
  Running running;
  Client& client = running.client();
  client.shake_hands();
  client.say(call(1, "wait"));
  running.wait_for_running(1);
  running.terminate();
  // The refusal is sure to come only after the signal was seen, so ask until it does.
  std::string line;
  int id = 10;
  do {
    client.say(call(++id, "measure"));
    line = client.read_line();
  } while (line.find("SHUTTING_DOWN") == std::string::npos && id < 100'000);
  CHECK(is_reply_to(line, id));
  client.say(ping(2));
  CHECK(is_reply_to(client.read_line(), 2));
  running.box().open_gate();
  CHECK(client.read_line().find("passed") != std::string::npos);
  CHECK(running.exit_code() == kExitOk);
}

TEST_CASE("SIGTERM on an idle session ends it") {
  Running running;
  running.client().shake_hands();
  running.terminate();
  CHECK(running.exit_code() == kExitOk);
}

TEST_CASE("a second SIGTERM stops waiting for calls") {
  Running running;
  Client& client = running.client();
  client.shake_hands();
  client.say(call(1, "wait"));
  running.wait_for_running(1);
  running.terminate();
  running.terminate();
  CHECK(client.read_line().find("SHUTTING_DOWN") != std::string::npos);
  CHECK(running.exit_code() == kExitOk);
}

TEST_CASE("a call that can't be stopped is left behind and said to be") {
  Running running(Patience{.unwind = 20ms});
  running.client().shake_hands();
  running.client().say(call(1, "stubborn"));
  running.wait_for_running(1);
  running.client().close();
  CHECK(running.exit_code() == kExitOk);
  CHECK(running.calls_left());
  running.box().open_gate();
}

TEST_CASE("a client that speaks something else is turned away") {
  Running running;
  Client& client = running.client();
  for (int i = 0; i < 10; ++i) {
    client.say("C0644 5 file");
  }
  CHECK(running.exit_code() == kExitNotMcp);
  for (int i = 0; i < 10; ++i) {
    CHECK(client.read_line().find("-32700") != std::string::npos);
  }
  CHECK(client.read_line().empty());
}

TEST_CASE("an endless line that is no JSON is turned away before it ends") {
  Running running;
  running.client().send(std::string(kHelloMaxBytes, 'x'));
  CHECK(running.exit_code() == kExitNotMcp);
}

TEST_CASE("the end of input before any message is no failure") {
  Running running;
  running.client().end_input();
  CHECK(running.exit_code() == kExitOk);
}

TEST_CASE("lines of every size pass [H3-004]") {
  Running running;
  Client& client = running.client();
  client.shake_hands();
  const std::size_t around = call(1, "measure", R"({"text":""})").size();
  for (const std::size_t size : {4095UL, 4096UL, 65535UL, 65536UL, 65537UL, 700'000UL}) {
    client.say(call(1, "measure", R"({"text":")" + std::string(size - around, 'a') + "\"}"));
    CHECK(client.read_line().find("\"" + std::to_string(size - around) + "\"") !=
          std::string::npos);
  }
}

TEST_CASE("a line past the cap is discarded, reported, and nothing else is lost [3] [H3-010]") {
  Running running;
  Client& client = running.client();
  client.shake_hands();
  const std::string piece(512, 'x');
  std::atomic<bool> sent_all = false;
  std::thread writer([&] {
    bool sent = client.try_send("{");
    for (std::size_t bytes = 0; sent && bytes < 20 * kMiB; bytes += piece.size()) {
      sent = client.try_send(piece);
    }
    sent_all = sent && client.try_send("\n" + ping(7) + "\n");
  });
  CHECK(client.read_line().find("was discarded") != std::string::npos);
  CHECK(is_reply_to(client.read_line(), 7));
  writer.join();
  CHECK(sent_all);
}

TEST_CASE("bytes that are no UTF-8 leave the process and the line whole [H3-008]") {
  Running running;
  Client& client = running.client();
  client.shake_hands();
  client.say(call(1, "binary"));
  const std::string line = client.read_line();
  CHECK(is_reply_to(line, 1));
  CHECK(is_utf8(line));
  CHECK(parse_json(line).ok());
}

TEST_CASE("a handler that throws is a failed call and nothing more") {
  Running running;
  Client& client = running.client();
  client.shake_hands();
  client.say(call(1, "throw"));
  CHECK(client.read_line().find("throw: INTERNAL: ") != std::string::npos);
  client.say(ping(2));
  CHECK(is_reply_to(client.read_line(), 2));
}

TEST_CASE("a large reply arrives whole at a slow reader, and the session lives on [H3-005]") {
  Running running;
  Client& client = running.client();
  const int small = 32 * 1024;
  REQUIRE(::setsockopt(client.to(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small) == 0);
  client.shake_hands();
  client.say(call(1, "big", R"({"bytes":1000000})"));
  const std::string line = client.read_line();
  CHECK(line.size() > 1'000'000);
  CHECK(parse_json(line).ok());
  client.say(ping(2));
  CHECK(is_reply_to(client.read_line(), 2));
}

TEST_CASE("progress and a large result never block each other [H3-006]") {
  Running running;
  Client& client = running.client();
  client.shake_hands();
  for (int id = 1; id <= 40; ++id) {
    client.say(call(id, "big", R"({"bytes":30000})",
                    R"(,"_meta":{"progressToken":)" + std::to_string(id) + "}"));
  }
  client.say(ping(100));
  std::set<int> answered;
  while (answered.size() < 41) {
    const std::string line = client.read_line();
    REQUIRE_FALSE(line.empty());
    const auto value = parse_json(line);
    REQUIRE(value.ok());
    if (value.value().contains("id")) {
      answered.insert(value.value().at("id").get<int>());
    } else {
      // Progress of a call never follows its reply.
      CHECK(answered.count(value.value().at("params").at("progressToken").get<int>()) == 0);
    }
  }
  CHECK(answered.count(100) == 1);
}

TEST_CASE("a client that reads nothing is read no further, and then loses nothing") {
  Running running;
  Client& client = running.client();
  client.shake_hands();
  REQUIRE(set_nonblocking(client.to(), true).ok());
  // Each request of 50 bytes is answered with more than six kilobytes.
  const std::string line = R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})"
                           "\n";
  std::size_t sent = 0;
  std::size_t lines = 0;
  bool full = false;
  while (!full) {
    const ssize_t took = ::send(client.to(), line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (took > 0) {
      sent += static_cast<std::size_t>(took);
      lines += sent == line.size() ? 1U : 0U;
      sent %= line.size();
      REQUIRE(lines < 1'000'000);
      continue;
    }
    // Full for good once the server takes nothing for a while.
    pollfd writable{client.to(), POLLOUT, 0};
    full = ::poll(&writable, 1, 1000) == 0;
  }
  REQUIRE(set_nonblocking(client.to(), false).ok());
  std::atomic<bool> sent_all = false;
  std::thread writer([&] {
    sent_all = client.try_send(std::string_view(line).substr(sent));
    client.end_input();
  });
  std::size_t replies = 0;
  while (!client.read_line().empty()) {
    ++replies;
  }
  writer.join();
  CHECK(sent_all);
  CHECK(replies == lines + 1);
  CHECK(running.exit_code() == kExitOk);
}

TEST_CASE("a client that takes nothing at the end is given up") {
  Running running(Patience{.flush = 20ms});
  Client& client = running.client();
  client.shake_hands();
  client.say(call(1, "big", R"({"bytes":1000000})"));
  client.end_input();
  CHECK(running.exit_code() == kExitOk);
}

TEST_CASE("sixty-four calls run at once and the others wait their turn") {
  Running running;
  Client& client = running.client();
  client.shake_hands();
  for (int id = 1; id <= 100; ++id) {
    client.say(call(id, "wait"));
  }
  running.wait_for_running(static_cast<int>(kMaxCallsRunning));
  client.say(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":100}})");
  client.say(ping(500));
  CHECK(is_reply_to(client.read_line(), 500));
  CHECK(running.box().running == static_cast<int>(kMaxCallsRunning));
  running.box().open_gate();
  std::set<std::string> replies;
  for (int i = 1; i < 100; ++i) {
    replies.insert(client.read_line());
  }
  CHECK(replies.size() == 99);
  CHECK(running.box().cancelled == 0);  // number 100 had not begun
}

TEST_CASE("a cancelled call is never answered and its thread serves the next [21]") {
  Running running;
  Client& client = running.client();
  client.shake_hands();
  client.say(call(5, "wait"));
  running.wait_for_running(1);
  client.say(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}})");
  running.wait_for_running(0);
  client.say(call(6, "measure"));
  CHECK(is_reply_to(client.read_line(), 6));
  CHECK(running.box().cancelled == 1);
}

TEST_CASE("a reply waits until the door has put the call down") {
  Running running({}, Running::Kind::kSocket, true);
  Client& client = running.client();
  client.shake_hands();
  client.say(call(1, "big", R"({"bytes":5})"));
  REQUIRE(wait_readable(running.records().get(), std::chrono::steady_clock::now() + kPatience));
  auto received = receive_record(running.records().get());
  REQUIRE(received.ok());
  REQUIRE(received.value());
  client.say(ping(2));
  CHECK(is_reply_to(client.read_line(), 2));
  REQUIRE(send_record(running.records().get(), record::Recorded{}).ok());
  CHECK(is_reply_to(client.read_line(), 1));
  const auto& told = std::get<record::ToolCalled>(received.value()->record);
  CHECK(told.tool == "big");
  CHECK(told.outcome == "ok");
  CHECK(told.has_exit_code);
}

TEST_CASE("while the door takes no records replies wait and ping does not") {
  Running running({}, Running::Kind::kSocket, true);
  Client& client = running.client();
  client.shake_hands();
  constexpr int kCalls = 300;
  for (int id = 1; id <= kCalls; ++id) {
    client.say(call(id, "measure"));
  }
  client.say(ping(1000));
  int replies = 0;
  std::string line = client.read_line();
  for (; !is_reply_to(line, 1000); line = client.read_line()) {
    ++replies;
  }
  CHECK(replies == 0);
  for (int records = 0; records < kCalls; ++records) {
    REQUIRE(wait_readable(running.records().get(), std::chrono::steady_clock::now() + kPatience));
    REQUIRE(receive_record(running.records().get()).ok());
    REQUIRE(send_record(running.records().get(), record::Recorded{}).ok());
  }
  for (; replies < kCalls; ++replies) {
    CHECK_FALSE(client.read_line().empty());
  }
}

TEST_CASE("while the door takes no records, large replies that wait hold calls back") {
  Running running({}, Running::Kind::kSocket, true);
  Client& client = running.client();
  client.shake_hands();
  constexpr int kCalls = 80;
  const std::string arguments = R"({"bytes":1000000})";
  for (int id = 1; id <= kCalls; ++id) {
    client.say(call(id, "big", arguments));
  }
  // Nothing is lost by it.
  std::set<std::string> starts;
  int records = 0;
  while (starts.size() < kCalls) {
    if (records < kCalls &&
        wait_readable(running.records().get(), std::chrono::steady_clock::now())) {
      REQUIRE(receive_record(running.records().get()).ok());
      REQUIRE(send_record(running.records().get(), record::Recorded{}).ok());
      ++records;
    } else if (client.has_input()) {
      const std::string line = client.read_line();
      REQUIRE(line.size() > 1'000'000);
      starts.insert(line.substr(0, 30));
    } else {
      std::this_thread::yield();
    }
  }
  CHECK(records == kCalls);
}

TEST_CASE("a subscription is ended with a result at the end of input [27]") {
  Running running;
  Client& client = running.client();
  const std::string envelope = R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                               R"("io.modelcontextprotocol/clientCapabilities":{}})";
  client.say(R"({"jsonrpc":"2.0","id":"s","method":"subscriptions/listen",)"
             R"("params":{"notifications":{},)" +
             envelope + "}}");
  CHECK(client.read_line().find("acknowledged") != std::string::npos);
  client.end_input();
  CHECK(client.read_line().find(R"("id":"s","result")") != std::string::npos);
  CHECK(client.read_line().empty());
  CHECK(running.exit_code() == kExitOk);
}

TEST_CASE("without the door's ear no reply leaves") {
  Running running({}, Running::Kind::kSocket, true);
  Client& client = running.client();
  client.shake_hands();
  running.records().reset();
  // The server may have noticed and gone before the call comes: then there is nobody to take it.
  static_cast<void>(client.try_send(call(1, "measure") + "\n"));
  CHECK(client.read_line().empty());
  CHECK(running.exit_code() == kExitOk);
}

TEST_CASE("a probe that discovers and leaves, many times over, leaves nothing [40]") {
  std::thread([] {}).join();  // a sanitizer keeps a descriptor from the first thread on
  const std::size_t before = open_descriptors();
  for (int round = 0; round < 300; ++round) {
    Running running;
    running.client().say(
        R"({"jsonrpc":"2.0","id":"probe","method":"server/discover","params":{"_meta":{)"
        R"("io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
        R"("io.modelcontextprotocol/clientCapabilities":{}}}})");
    if (round % 2 == 0) {
      REQUIRE(running.client().read_line().find("supportedVersions") != std::string::npos);
    }
    running.client().close();
    REQUIRE(running.exit_code() == kExitOk);
  }
  CHECK(open_descriptors() == before);
}

TEST_CASE("sessions leave no descriptor behind, however they end [40] [H3-015]") {
  const std::size_t before = open_descriptors();
  for (int round = 0; round < 60; ++round) {
    Running running;
    running.client().shake_hands();
    running.client().say(call(1, "wait"));
    running.client().say(call(2, "measure"));
    if (round % 3 == 0) {
      running.client().close();
    } else if (round % 3 == 1) {
      running.terminate();
      running.terminate();
    } else {
      running.box().open_gate();
      running.client().end_input();
    }
    CHECK(running.exit_code() == kExitOk);
  }
  CHECK(open_descriptors() == before);
}
