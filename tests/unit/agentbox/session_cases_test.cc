// pure: malformed input and batches.
#include "agentbox/limits.h"
#include "agentbox/session.h"
#include "support/catch.h"
#include "talk.h"

using namespace agentbox;
using namespace agentbox::mcp;
using namespace agentbox::mcp::test;

namespace {

std::string ping_line() { return legacy("1", "ping"); }

bool has_null_id(const std::string& line) { return line.find(R"("id":null)") != std::string::npos; }

}  // namespace

TEST_CASE("malformed lines get one error each and the session goes on [4] [H3-020]") {
  Talk talk;
  const auto expect = [&](const std::string& sent, int code, bool null_id = true) {
    const std::string line = talk.ask(sent);
    INFO(sent.substr(0, 40));
    CHECK(error_code(line) == code);
    CHECK(has_null_id(line) == null_id);
    CHECK(talk.ask(ping_line()) == R"({"jsonrpc":"2.0","id":1,"result":{}})");
  };
  for (int round = 0; round < 2; ++round) {
    expect("{not json", rpc::kParseError);
    expect("{\"a\":\"\xff\xfe\"}", rpc::kParseError);
    expect(std::string("{\"a\":\"\0\"}", 9), rpc::kParseError);
    expect("{}{}", rpc::kParseError);
    expect("[]", rpc::kInvalidRequest);
    expect("[1]", rpc::kInvalidRequest);
    expect("42", rpc::kInvalidRequest);
    expect("\"x\"", rpc::kInvalidRequest);
    expect("null", rpc::kInvalidRequest);
    expect(R"({"jsonrpc":"1.0","id":1})", rpc::kInvalidRequest, false);
    expect(R"({"jsonrpc":"2.0","id":null,"method":"ping"})", rpc::kInvalidRequest);
    expect(R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})", rpc::kInvalidRequest);
    expect(std::string(100'000, '['), rpc::kParseError);
    expect(R"({"jsonrpc":"2.0","id":1,"method":"ping","params":)" + std::string(100'000, '[') +
               std::string(100'000, ']') + "}",
           rpc::kParseError);
    talk.shake_hands();
  }
}

TEST_CASE("a parse error quotes little of what was sent") {
  Talk talk;
  const std::string line = talk.ask("{\"" + std::string(1'000'000, 'k') + "\" 5}");
  CHECK(error_code(line) == rpc::kParseError);
  CHECK(line.size() < 1000);
}

TEST_CASE("a line that was too long is reported and the session goes on [3]") {
  Talk talk;
  const auto lines = talk.say_too_long();
  REQUIRE(lines.size() == 1);
  CHECK(error_code(lines.front()) == rpc::kInvalidRequest);
  CHECK(has_null_id(lines.front()));
  CHECK(talk.ask(ping_line()).find("result") != std::string::npos);
}

TEST_CASE("a repeated key does not confuse the session [3]") {
  Talk talk;
  CHECK(talk.ask(R"({"jsonrpc":"2.0","id":1,"id":2,"method":"ping"})") ==
        R"({"jsonrpc":"2.0","id":2,"result":{}})");
}

TEST_CASE("many keys and values are refused before they are built") {
  Talk talk;
  std::string keys = "{";
  for (int i = 0; i < 60'000; ++i) {
    keys += "\"" + std::to_string(i) + "\":0,";
  }
  CHECK(error_code(talk.ask(keys + "\"z\":0}")) == rpc::kParseError);
}

TEST_CASE("a batch is answered in one array where the revision has batches [38]") {
  Talk talk;
  talk.shake_hands("2025-03-26");
  CHECK(talk.ask("[" + ping_line() + "," + R"({"jsonrpc":"2.0","method":"n"},5,)" +
                 legacy("2", "ping") + "]") ==
        R"([{"jsonrpc":"2.0","id":1,"result":{}},)"
        R"({"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":)"
        R"("Invalid Request: one message is one JSON object on one line"}},)"
        R"({"jsonrpc":"2.0","id":2,"result":{}}])");
  CHECK(talk.say(R"([{"jsonrpc":"2.0","method":"n"}])").empty());
  CHECK(error_code(talk.ask("[]")) == rpc::kInvalidRequest);
}

TEST_CASE("a handshake inside a batch is refused [38]") {
  Talk talk;
  talk.shake_hands("2025-03-26");
  const std::string line =
      talk.ask("[" + legacy("1", "initialize", R"({"protocolVersion":"2025-06-18"})") + "]");
  CHECK(line.find("-32600") != std::string::npos);
  CHECK(talk.ask("[" + ping_line() + "]").front() == '[');
}

TEST_CASE("other revisions refuse a batch with one error [38]") {
  for (const char* const version : {"2024-11-05", "2025-06-18", "2025-11-25"}) {
    Talk talk;
    talk.shake_hands(version);
    const std::string line = talk.ask("[" + ping_line() + "]");
    CHECK(error_code(line) == rpc::kInvalidRequest);
    CHECK(has_null_id(line));
  }
}

TEST_CASE("a batch waits for its calls and leaves out what was cancelled") {
  Talk talk;
  talk.shake_hands("2025-03-26");
  CHECK(talk.say("[" + call_poke("1") + "," + call_poke("2") + "," + legacy("3", "ping") + "]")
            .empty());
  REQUIRE(talk.started().size() == 2);
  CHECK(talk.say(cancel("2")).empty());
  const auto lines = talk.finish(talk.started().at(0).key);
  REQUIRE(lines.size() == 1);
  const auto replies = parse_json(lines.front()).value();
  REQUIRE(replies.size() == 2);
  CHECK(replies.at(0).at("id") == 3);
  CHECK(replies.at(1).at("id") == 1);
  CHECK(talk.finish(talk.started().at(1).key).empty());
}

TEST_CASE("a batch whose calls were all cancelled is never answered") {
  Talk talk;
  talk.shake_hands("2025-03-26");
  CHECK(talk.say("[" + call_poke("1") + "]").empty());
  CHECK(talk.say(cancel("1")).empty());
  CHECK(talk.finish(talk.started().at(0).key).empty());
}

TEST_CASE("one id twice in a batch is refused the second time") {
  Talk talk;
  talk.shake_hands("2025-03-26");
  CHECK(talk.say("[" + call_poke("1") + "," + call_poke("1") + "]").empty());
  REQUIRE(talk.started().size() == 1);
  const auto replies = parse_json(talk.finish(talk.started().at(0).key).at(0)).value();
  REQUIRE(replies.size() == 2);
  CHECK(replies.at(0).at("error").at("code") == rpc::kInvalidRequest);
}

TEST_CASE("a batch has a bounded number of messages") {
  Talk talk;
  talk.shake_hands("2025-03-26");
  std::string batch = "[" + ping_line();
  for (std::size_t i = 1; i <= kMaxBatchItems; ++i) {
    batch += "," + ping_line();
  }
  CHECK(error_code(talk.ask(batch + "]")) == rpc::kInvalidRequest);
}

TEST_CASE("a batch's one line keeps to the limit of lines [2]") {
  Talk talk;
  talk.shake_hands("2025-03-26");
  CHECK(talk.say("[" + call_poke("1") + "," + call_poke("2") + "]").empty());
  const std::string large(kMaxResultBytes * 2 / 3, 'x');
  CHECK(talk.finish(talk.started().at(0).key, large).empty());
  const auto lines = talk.finish(talk.started().at(1).key, large);
  REQUIRE(lines.size() == 1);
  CHECK(lines.front().size() < kMaxLineOutBytes);
  const auto replies = parse_json(lines.front()).value();
  CHECK(replies.at(0).contains("result"));
  CHECK(replies.at(1).at("error").at("code") == rpc::kInternalError);
}

TEST_CASE("an id too long to be one is refused") {
  Talk talk;
  const std::string fits(kMaxIdBytes - 2, 'i');
  CHECK(talk.ask(legacy("\"" + fits + "\"", "ping")).find(fits) != std::string::npos);
  const std::string line = talk.ask(legacy("\"" + fits + "i\"", "ping"));
  CHECK(error_code(line) == rpc::kInvalidRequest);
  CHECK(has_null_id(line));
}

TEST_CASE("names that go back into an error are cut at a character") {
  Talk talk;
  talk.shake_hands();
  std::string name;
  for (int i = 0; i < 1000; ++i) {
    name += "é";
  }
  const std::string line = talk.ask(legacy("1", "tools/call", R"({"name":")" + name + "\"}"));
  CHECK(line.size() < 400);
  CHECK(parse_json(line).ok());
  CHECK(line.find("\xef\xbf\xbd") == std::string::npos);
}
