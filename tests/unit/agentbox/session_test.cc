// pure: the session of the revisions with a handshake.
#include "agentbox/session.h"

#include "agentbox/limits.h"
#include "support/catch.h"
#include "talk.h"

using namespace agentbox;
using namespace agentbox::mcp;
using namespace agentbox::mcp::test;

namespace {

Json result_of(const std::string& line) {
  auto value = parse_json(line);
  REQUIRE(value.ok());
  REQUIRE(value->contains("result"));
  return value->at("result");
}

std::string ping_line() { return legacy("1", "ping"); }

}  // namespace

TEST_CASE("each revision with a handshake is echoed, all else gets the newest such [8]") {
  for (const std::string version : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
    Talk talk;
    const auto result =
        result_of(talk.ask(legacy("0", "initialize", R"({"protocolVersion":")" + version + "\"}")));
    CHECK(result.at("protocolVersion") == version);
  }
  for (const std::string version : {"2026-07-28", "2024-10-07", "x", ""}) {
    Talk talk;
    const auto result =
        result_of(talk.ask(legacy("0", "initialize", R"({"protocolVersion":")" + version + "\"}")));
    CHECK(result.at("protocolVersion") == "2025-11-25");
  }
}

TEST_CASE("a handshake without a version is refused") {
  Talk talk;
  CHECK(error_code(talk.ask(legacy("1", "initialize"))) == rpc::kInvalidParams);
  CHECK(error_code(talk.ask(legacy("1", "initialize", R"({"protocolVersion":5})"))) ==
        rpc::kInvalidParams);
  CHECK(error_code(talk.ask(legacy("2", "tools/list"))) == rpc::kInvalidParams);
}

TEST_CASE("a handshake that carries the modern envelope is still a handshake") {
  Talk talk;
  const auto result = result_of(
      talk.ask(modern("1", "initialize", R"("protocolVersion":"2026-07-28","capabilities":{},)")));
  CHECK(result.at("protocolVersion") == "2025-11-25");
  CHECK_FALSE(result.contains("resultType"));
}

TEST_CASE("ping is answered before and after the handshake [9]") {
  Talk talk;
  CHECK(talk.ask(ping_line()) == R"({"jsonrpc":"2.0","id":1,"result":{}})");
  talk.shake_hands();
  CHECK(talk.ask(ping_line()) == R"({"jsonrpc":"2.0","id":1,"result":{}})");
}

TEST_CASE("other requests before the handshake are refused and say what to send [10]") {
  Talk talk;
  for (const char* const method :
       {"tools/list", "tools/call", "logging/setLevel", "server/discover", "nonsense"}) {
    const std::string line = talk.ask(legacy("1", method));
    CHECK(error_code(line) == rpc::kInvalidParams);
    CHECK(line.find("send initialize first") != std::string::npos);
  }
}

TEST_CASE("requests between the handshake's answer and `initialized` are served") {
  Talk talk;
  talk.shake_hands();
  CHECK(result_of(talk.ask(legacy("2", "tools/list"))).at("tools").size() == 2);
}

TEST_CASE("a second handshake negotiates anew and calls go on [11]") {
  Talk talk;
  talk.shake_hands("2025-03-26");
  static_cast<void>(talk.ask(legacy("1", "logging/setLevel", R"({"level":"debug"})")));
  static_cast<void>(talk.say(call_poke("2")));
  talk.shake_hands("2025-06-18");
  CHECK(error_code(talk.ask("[]")) == rpc::kInvalidRequest);
  const auto lines = talk.finish(talk.started().at(0).key);
  REQUIRE(lines.size() == 1);  // the log level was reset: no message besides the reply
  CHECK(lines.front().find(R"("id":2)") != std::string::npos);
}

TEST_CASE("unknown methods and those of the other era are not found") {
  Talk talk;
  talk.shake_hands();
  for (const char* const method : {"server/discover", "subscriptions/listen", "resources/list",
                                   "prompts/list", "tasks/list", "nonsense"}) {
    CHECK(error_code(talk.ask(legacy("1", method))) == rpc::kMethodNotFound);
  }
}

TEST_CASE("only capabilities that exist are offered") {
  Talk talk;
  const auto result =
      result_of(talk.ask(legacy("0", "initialize", R"({"protocolVersion":"2025-11-25"})")));
  CHECK(result.at("capabilities") == Json::parse(R"({"tools":{},"logging":{}})"));
  CHECK(result.at("instructions").get<std::string>().size() < 2048);
}

TEST_CASE("serverInfo has what the revision knows") {
  for (const std::string version : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
    Talk talk;
    const auto info =
        result_of(talk.ask(legacy("0", "initialize", R"({"protocolVersion":")" + version + "\"}")))
            .at("serverInfo");
    CHECK(info.at("name") == "agent-box");
    CHECK(info.at("version") == AGENTBOX_VERSION);
    CHECK(info.contains("title") == (version >= "2025-06-18"));
    CHECK(info.contains("description") == (version >= "2025-11-25"));
  }
}

TEST_CASE("ids come back exactly as they were sent [6]") {
  Talk talk;
  for (const char* const id : {"0", "-1", "9007199254740992", "1152921504606846976",
                               "18446744073709551615", R"("")", R"("0")", R"("é")"}) {
    CHECK(talk.ask(legacy(id, "ping")) ==
          R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"result":{}})");
  }
  for (const char* const id : {"null", "true", "1.5", "1.0", "{}", "[]"}) {
    const std::string line = talk.ask(legacy(id, "ping"));
    CHECK(error_code(line) == rpc::kInvalidRequest);
    CHECK(line.find(R"("id":null)") != std::string::npos);
  }
}

TEST_CASE("an id in flight is refused and may be used again after [7]") {
  Talk talk;
  talk.shake_hands();
  CHECK(talk.say(call_poke("5")).empty());
  CHECK(error_code(talk.ask(call_poke("5"))) == rpc::kInvalidRequest);
  CHECK(error_code(talk.ask(legacy("5", "ping"))) == rpc::kInvalidRequest);
  CHECK(talk.say(call_poke(R"("5")")).empty());  // another type, another id
  static_cast<void>(talk.finish(talk.started().at(0).key));
  CHECK(talk.say(call_poke("5")).empty());
  CHECK(talk.started().size() == 3);
}

TEST_CASE("notifications are never answered, whatever is wrong with them [5]") {
  Talk talk;
  for (int round = 0; round < 2; ++round) {
    CHECK(talk.say(R"({"jsonrpc":"2.0","method":"notifications/initialized"})").empty());
    CHECK(talk.say(R"({"jsonrpc":"2.0","method":"nonsense","params":[1]})").empty());
    CHECK(talk.say(R"({"jsonrpc":"2.0","method":"tools/call","params":{"name":"poke"}})").empty());
    CHECK(talk.say(R"({"jsonrpc":"2.0","id":77,"result":{}})").empty());
    talk.shake_hands();
  }
  CHECK(talk.started().empty());
}

TEST_CASE("tools are listed in table order, the same each time [18]") {
  Talk talk;
  talk.shake_hands();
  const std::string once = talk.ask(legacy("1", "tools/list"));
  CHECK(once == talk.ask(legacy("1", "tools/list")));
  const auto result = result_of(once);
  CHECK(result.at("tools").at(0).at("name") == "poke");
  CHECK(result.at("tools").at(1).at("name") == "look");
  CHECK_FALSE(result.contains("nextCursor"));
}

TEST_CASE("a cursor that was never given out is refused [30]") {
  Talk talk;
  talk.shake_hands();
  for (const char* const cursor : {R"("x")", R"("")", "5"}) {
    CHECK(error_code(
              talk.ask(legacy("1", "tools/list", R"({"cursor":)" + std::string(cursor) + "}"))) ==
          rpc::kInvalidParams);
  }
}

TEST_CASE("an unknown tool is an error of the protocol, bad arguments are a result [20]") {
  Talk talk;
  talk.shake_hands();
  const std::string unknown = talk.ask(legacy("1", "tools/call", R"({"name":"nope"})"));
  CHECK(error_code(unknown) == rpc::kInvalidParams);
  CHECK(unknown.find("Unknown tool: nope") != std::string::npos);
  CHECK(error_code(talk.ask(legacy("1", "tools/call"))) == rpc::kInvalidParams);
  CHECK(error_code(talk.ask(legacy("1", "tools/call", R"({"name":"look","arguments":[]})"))) ==
        rpc::kInvalidParams);

  const auto result = result_of(talk.ask(legacy("1", "tools/call", R"({"name":"poke"})")));
  CHECK(result.at("isError") == true);
  CHECK(result.at("content").at(0).at("text") ==
        R"(poke: INVALID_ARGUMENT: "what" is missing: a string is required.)");
  CHECK(result.at("_meta").at("agentbox/error").at("code") == "INVALID_ARGUMENT");
  CHECK(talk.started().empty());
}

TEST_CASE("arguments may be left out") {
  Talk talk;
  talk.shake_hands();
  CHECK(talk.say(legacy("1", "tools/call", R"({"name":"look"})")).empty());
  CHECK(talk.say(legacy("2", "tools/call", R"({"name":"look","arguments":null})")).empty());
  CHECK(talk.started().size() == 2);
}

TEST_CASE("a revision without tasks takes a call that asks to be one as a plain call [34]") {
  for (const std::string version : {"2024-11-05", "2025-03-26", "2025-06-18"}) {
    Talk talk;
    talk.shake_hands(version);
    CHECK(talk.say(call_poke("1", R"(,"task":{"ttl":60000})")).empty());
    REQUIRE(talk.started().size() == 1);
    CHECK(talk.started().at(0).method == nullptr);
    const auto lines = talk.finish(talk.started().at(0).key);
    REQUIRE(lines.size() == 1);
    CHECK(result_of(lines.front()).at("content").at(0).at("text") == "done");
  }
}

TEST_CASE("a tool that is no task is refused as one, and is itself without the wish [33]") {
  Talk talk;
  talk.shake_hands("2025-11-25");
  CHECK(error_code(talk.ask(call_poke("1", R"(,"task":{})"))) == rpc::kMethodNotFound);
  CHECK(talk.started().empty());
  CHECK(talk.say(call_poke("2", R"(,"task":null)")).empty());
  CHECK(talk.say(call_poke("3", "")).empty());
  CHECK(talk.started().size() == 2);
}

TEST_CASE("what is not offered is an unknown method in every revision [25] [31] [32]") {
  for (const std::string version : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
    Talk talk;
    talk.shake_hands(version);
    for (const char* const method :
         {"resources/list", "resources/read", "resources/templates/list", "resources/subscribe",
          "prompts/list", "prompts/get", "completion/complete", "roots/list",
          "sampling/createMessage"}) {
      CHECK(error_code(talk.ask(legacy("1", method, R"({"uri":"file:///x","name":"x"})"))) ==
            rpc::kMethodNotFound);
    }
  }
}

TEST_CASE("a call's record comes before its reply") {
  Talk talk;
  talk.shake_hands();
  static_cast<void>(talk.say(call_poke("9")));
  talk.pass(std::chrono::milliseconds(3));
  const auto lines =
      talk.finish(talk.started().at(0).key, "fine",
                  CallFacts{.path = "a\nb", .bytes_in = 1, .bytes_out = 2, .exit_code = 3});
  CHECK(talk.order() == std::vector<std::string>{"record", "line"});
  CHECK(lines ==
        std::vector<std::string>{R"({"jsonrpc":"2.0","id":9,"result":{"content":[{"type":"text",)"
                                 R"("text":"fine"}],"isError":false}})"});
  REQUIRE(talk.records().size() == 1);
  const auto& record = talk.records().front();
  CHECK(record.tool == "poke");
  CHECK(record.outcome == "ok");
  CHECK(record.path == R"(a\nb)");
  CHECK(record.duration_us == 3000);
  CHECK(record.arguments_bytes == std::string(R"({"what":"x"})").size());
  CHECK(record.arguments_sha256.size() == 64);
  CHECK(record.bytes_in == 1);
  CHECK(record.bytes_out == 2);
  CHECK(record.has_exit_code);
  CHECK(record.exit_code == 3);
}

TEST_CASE("a call that was refused is recorded too") {
  Talk talk(Role::kReader);
  talk.shake_hands();
  static_cast<void>(talk.ask(call_poke("1")));
  REQUIRE(talk.records().size() == 1);
  CHECK(talk.records().front().outcome == "error");
  CHECK(talk.records().front().code == "FORBIDDEN");
}

TEST_CASE("a reader sees and may call read-only tools alone") {
  Talk talk(Role::kReader);
  talk.shake_hands();
  const auto tools = result_of(talk.ask(legacy("1", "tools/list"))).at("tools");
  REQUIRE(tools.size() == 1);
  CHECK(tools.at(0).at("name") == "look");
  const auto result = result_of(talk.ask(call_poke("2")));
  CHECK(result.at("isError") == true);
  CHECK(result.at("_meta").at("agentbox/error").at("code") == "FORBIDDEN");
  CHECK(talk.say(legacy("3", "tools/call", R"({"name":"look"})")).empty());
}

TEST_CASE("a cancelled call is stopped, never answered, and recorded at its end [21]") {
  Talk talk;
  talk.shake_hands();
  static_cast<void>(talk.say(call_poke("5", R"(,"_meta":{"progressToken":1})")));
  const CallKey key = talk.started().at(0).key;
  CHECK(talk.say(cancel("5")).empty());
  CHECK(talk.cancelled() == std::vector<CallKey>{key});
  CHECK(talk.progress(key, 1, "late").empty());
  CHECK(talk.session().calls() == 1);
  CHECK(talk.session().calls_to_answer() == 0);
  CHECK(talk.finish(key).empty());
  CHECK(talk.session().calls() == 0);
  REQUIRE(talk.records().size() == 1);
  CHECK(talk.records().front().outcome == "cancelled");
}

TEST_CASE("cancelling what does not run has no effect [22] [H3-014]") {
  Talk talk;
  talk.shake_hands();
  static_cast<void>(talk.say(call_poke("5")));
  for (const char* const id : {R"("5")", "6", R"("never-used")", "null", "1.5", "{}"}) {
    CHECK(talk.say(cancel(id)).empty());
  }
  CHECK(talk.say(R"({"jsonrpc":"2.0","method":"notifications/cancelled"})").empty());
  CHECK(talk.say(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{}})").empty());
  CHECK(talk.cancelled().empty());
  CHECK(talk.finish(talk.started().at(0).key).size() == 1);
  CHECK(talk.say(cancel("5")).empty());
  CHECK(talk.cancelled().empty());
  CHECK(talk.ask(ping_line()).find("result") != std::string::npos);
}

TEST_CASE("progress goes out with the token as it was sent, and grows [23]") {
  Talk talk;
  talk.shake_hands();
  static_cast<void>(talk.say(call_poke("1", R"(,"_meta":{"progressToken":"t"})")));
  static_cast<void>(talk.say(call_poke("2", R"(,"_meta":{"progressToken":0})")));
  static_cast<void>(talk.say(call_poke("3")));
  static_cast<void>(talk.say(call_poke("4", R"(,"_meta":{"progressToken":true})")));
  const auto& started = talk.started();
  CHECK(started.at(0).wants_progress);
  CHECK_FALSE(started.at(2).wants_progress);
  CHECK_FALSE(started.at(3).wants_progress);

  CHECK(talk.progress(started.at(0).key, 10, "half") ==
        std::vector<std::string>{
            R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t",)"
            R"("progress":10,"message":"half"}})"});
  talk.pass(kProgressInterval);
  CHECK(talk.progress(started.at(0).key, 10, "same").empty());
  CHECK(talk.progress(started.at(0).key, 9, "less").empty());
  CHECK(talk.progress(started.at(0).key, 11, "more").size() == 1);
  CHECK(talk.progress(started.at(0).key, 12, "too soon").empty());
  CHECK(talk.progress(started.at(1).key, 1, "").at(0).find(R"("progressToken":0,)") !=
        std::string::npos);
  CHECK(talk.progress(started.at(2).key, 1, "unasked").empty());
  static_cast<void>(talk.finish(started.at(0).key));
  talk.pass(kProgressInterval);
  CHECK(talk.progress(started.at(0).key, 100, "after the reply").empty());
}

TEST_CASE("a call with nothing new to say is said to live every ten seconds [23]") {
  Talk talk;
  talk.shake_hands();
  CHECK_FALSE(talk.session().next_heartbeat());
  static_cast<void>(talk.say(call_poke("1", R"(,"_meta":{"progressToken":"t"})")));
  static_cast<void>(talk.say(call_poke("2")));
  const CallKey key = talk.started().at(0).key;
  REQUIRE(talk.session().next_heartbeat());
  CHECK(*talk.session().next_heartbeat() == talk.now() + kProgressHeartbeat);
  talk.pass(kProgressHeartbeat - std::chrono::milliseconds(1));
  CHECK(talk.heartbeats().empty());
  talk.pass(std::chrono::milliseconds(1));
  CHECK(talk.heartbeats() ==
        std::vector<std::string>{
            R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t",)"
            R"("progress":0,"message":"running for 10 s"}})"});
  CHECK(talk.heartbeats().empty());

  // Values grow over beats and real news alike, however many beats there are.
  double last = 0;
  const auto expect_growth = [&](const std::vector<std::string>& lines) {
    REQUIRE(lines.size() == 1);
    const double value =
        parse_json(lines.front()).value().at("params").at("progress").get<double>();
    CHECK(value > last);
    last = value;
  };
  for (int beat = 0; beat < 360; ++beat) {
    talk.pass(kProgressHeartbeat);
    expect_growth(talk.heartbeats());
  }
  talk.pass(kProgressInterval);
  expect_growth(talk.progress(key, 1, "the first byte"));
  talk.pass(kProgressHeartbeat);
  expect_growth(talk.heartbeats());
  talk.pass(kProgressInterval);
  expect_growth(talk.progress(key, 2, "the second byte"));
  CHECK(*talk.session().next_heartbeat() == talk.now() + kProgressHeartbeat);

  static_cast<void>(talk.finish(key));
  talk.pass(kProgressHeartbeat);
  CHECK(talk.heartbeats().empty());
  CHECK_FALSE(talk.session().next_heartbeat());
}

TEST_CASE("a cancelled call has no more heartbeats [21] [23]") {
  Talk talk;
  talk.shake_hands();
  static_cast<void>(talk.say(call_poke("1", R"(,"_meta":{"progressToken":1})")));
  static_cast<void>(talk.say(cancel("1")));
  talk.pass(kProgressHeartbeat);
  CHECK_FALSE(talk.session().next_heartbeat());
  CHECK(talk.heartbeats().empty());
}

TEST_CASE("a cancellation that comes after the call's end takes its reply back if it can [21]") {
  Talk talk;
  talk.shake_hands();
  static_cast<void>(talk.say(call_poke("5")));
  static_cast<void>(talk.finish(talk.started().at(0).key));
  CHECK(talk.say(cancel("5")).empty());
  CHECK(talk.withdrawn() == std::vector<std::string>{"5"});
  CHECK(talk.cancelled().empty());
}

TEST_CASE("progress messages are cut at a character and left out where there were none") {
  Talk talk;
  talk.shake_hands("2024-11-05");
  static_cast<void>(talk.say(call_poke("1", R"(,"_meta":{"progressToken":1})")));
  CHECK(talk.progress(talk.started().at(0).key, 1, "x").at(0).find("message") == std::string::npos);

  Talk later;
  later.shake_hands();
  static_cast<void>(later.say(call_poke("1", R"(,"_meta":{"progressToken":1})")));
  std::string text(kMaxProgressMessageBytes - 1, 'x');
  text += "é";
  const std::string line = later.progress(later.started().at(0).key, 1, text).at(0);
  const auto message = parse_json(line).value().at("params").at("message").get<std::string>();
  CHECK(message == std::string(kMaxProgressMessageBytes - 1, 'x'));
}

TEST_CASE("setLevel knows eight levels and filters messages [28]") {
  Talk talk;
  talk.shake_hands();
  static_cast<void>(talk.say(call_poke("1")));
  CHECK(talk.finish(talk.started().at(0).key).size() == 1);  // nothing below warning by default
  for (const char* const level : {"trace", "INFO", ""}) {
    CHECK(error_code(talk.ask(
              legacy("2", "logging/setLevel", R"({"level":")" + std::string(level) + "\"}"))) ==
          rpc::kInvalidParams);
  }
  CHECK(error_code(talk.ask(legacy("2", "logging/setLevel"))) == rpc::kInvalidParams);
  for (const char* const level :
       {"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}) {
    CHECK(result_of(talk.ask(
              legacy("2", "logging/setLevel", R"({"level":")" + std::string(level) + "\"}"))) ==
          Json::object());
    static_cast<void>(talk.say(call_poke("3")));
    const auto lines = talk.finish(talk.started().back().key);
    const bool heard = std::string_view(level) == "debug" || std::string_view(level) == "info";
    REQUIRE(lines.size() == (heard ? 2 : 1));
    CHECK(lines.back().find(R"("id":3)") != std::string::npos);
    if (heard) {
      CHECK(lines.front().find("notifications/message") != std::string::npos);
    }
  }
}

TEST_CASE("calls beyond those that may wait are refused as a result, and pings are not") {
  Talk talk;
  talk.shake_hands();
  const std::size_t most = kMaxCallsRunning + kMaxCallsQueued;
  for (std::size_t i = 0; i < most; ++i) {
    CHECK(talk.say(call_poke(std::to_string(i))).empty());
  }
  const auto result = result_of(talk.ask(call_poke("9999")));
  CHECK(result.at("_meta").at("agentbox/error").at("code") == "RATE_LIMITED");
  CHECK(talk.ask(legacy("99999", "ping")).find("result") != std::string::npos);
  static_cast<void>(talk.finish(talk.started().at(0).key));
  CHECK(talk.say(call_poke("9999")).empty());
}

TEST_CASE("a session that is ending starts no new calls") {
  Talk talk;
  talk.shake_hands();
  talk.session().refuse_calls();
  const auto result = result_of(talk.ask(call_poke("1")));
  CHECK(result.at("_meta").at("agentbox/error").at("code") == "SHUTTING_DOWN");
  CHECK(talk.ask(legacy("2", "ping")).find("result") != std::string::npos);
}

TEST_CASE("abandoned calls are answered, cancelled and recorded once") {
  Talk talk;
  talk.shake_hands();
  static_cast<void>(talk.say(call_poke("1")));
  static_cast<void>(talk.say(call_poke("2")));
  static_cast<void>(talk.say(cancel("2")));
  const auto lines = talk.abandon();
  REQUIRE(lines.size() == 1);
  CHECK(lines.front().find("poke: SHUTTING_DOWN: ") != std::string::npos);
  CHECK(talk.order() == std::vector<std::string>{"record", "line"});
  CHECK(talk.cancelled().size() == 2);
  CHECK(talk.finish(talk.started().at(0).key).empty());
  CHECK(talk.finish(talk.started().at(1).key).empty());
  REQUIRE(talk.records().size() == 2);
  CHECK(talk.records().at(0).code == "SHUTTING_DOWN");
  CHECK(talk.records().at(1).outcome == "cancelled");
  CHECK(talk.session().calls() == 0);
}

TEST_CASE("when the link is lost all calls are cancelled and nothing is said") {
  Talk talk;
  talk.shake_hands();
  static_cast<void>(talk.say(call_poke("1")));
  static_cast<void>(talk.say(call_poke("2")));
  CHECK(talk.drop().empty());
  CHECK(talk.cancelled().size() == 2);
  CHECK(talk.session().calls_to_answer() == 0);
}

TEST_CASE("a result past the limit becomes an error that says so [2]") {
  Talk talk;
  talk.shake_hands();
  static_cast<void>(talk.say(call_poke("1")));
  const auto lines = talk.finish(talk.started().at(0).key, std::string(kMaxResultBytes, 'x'));
  REQUIRE(lines.size() == 1);
  CHECK(lines.front().size() < 1000);
  CHECK(lines.front().find("poke: TOO_LARGE: ") != std::string::npos);
}
