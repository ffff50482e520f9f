// pure: the session without a handshake, and both eras on one channel.
#include "agentbox/limits.h"
#include "agentbox/session.h"
#include "support/catch.h"
#include "talk.h"

using namespace agentbox;
using namespace agentbox::mcp;
using namespace agentbox::mcp::test;

namespace {

Json reply_of(const std::string& line) {
  auto value = parse_json(line);
  REQUIRE(value.ok());
  return std::move(value).value();
}

constexpr std::string_view kCallLook = R"("name":"look",)";

}  // namespace

TEST_CASE("discovery is served without a handshake and lists all revisions [12] [13] [17]") {
  Talk talk;
  const auto result = reply_of(talk.ask(modern("1", "server/discover"))).at("result");
  CHECK(result.at("supportedVersions") ==
        Json::parse(R"(["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"])"));
  CHECK(result.at("resultType") == "complete");
  CHECK(result.at("ttlMs").is_number_unsigned());
  CHECK(result.at("cacheScope") == "private");
  CHECK(result.at("capabilities") == Json::parse(R"({"tools":{},"logging":{}})"));
  CHECK(result.at("_meta").at("io.modelcontextprotocol/serverInfo").at("name") == "agent-box");
}

TEST_CASE("an envelope that lacks a field is refused [12]") {
  Talk talk;
  const auto refused = [&](const std::string& envelope) {
    return error_code(talk.ask(legacy("1", "tools/list", R"({"_meta":{)" + envelope + "}}")));
  };
  const std::string version = R"("io.modelcontextprotocol/protocolVersion":"2026-07-28")";
  const std::string abilities = R"("io.modelcontextprotocol/clientCapabilities":{})";
  CHECK(refused(version) == rpc::kInvalidParams);
  CHECK(refused(abilities) == rpc::kInvalidParams);
  CHECK(refused(version + R"(,"io.modelcontextprotocol/clientCapabilities":[])") ==
        rpc::kInvalidParams);
  CHECK(refused(R"("io.modelcontextprotocol/protocolVersion":5,)" + abilities) ==
        rpc::kInvalidParams);
  CHECK(refused(version + "," + abilities + R"(,"io.modelcontextprotocol/logLevel":"loud")") ==
        rpc::kInvalidParams);
  CHECK(refused(version + "," + abilities) == 0);
}

TEST_CASE("an unknown revision is answered with those that exist [12]") {
  Talk talk;
  for (const std::string name : {"2027-01-01", "2025-11-25", ""}) {
    const auto error =
        reply_of(talk.ask(legacy(
                     "1", "tools/list",
                     R"({"_meta":{"io.modelcontextprotocol/protocolVersion":")" + name + "\"}}")))
            .at("error");
    CHECK(error.at("code") == -32022);
    CHECK(error.at("data").at("requested") == name);
    CHECK(error.at("data").at("supported").size() == 5);
  }
}

TEST_CASE("methods that the modern revision dropped are not found [14]") {
  Talk talk;
  talk.shake_hands();
  for (const char* const method :
       {"ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "tasks/list",
        "tasks/result", "resources/list", "prompts/list"}) {
    CHECK(error_code(talk.ask(modern("1", method))) == rpc::kMethodNotFound);
  }
}

TEST_CASE("modern results say their type and the server, others do not [16]") {
  Talk talk;
  talk.shake_hands();
  static_cast<void>(talk.say(modern("1", "tools/call", kCallLook)));
  static_cast<void>(talk.say(legacy("2", "tools/call", R"({"name":"look"})")));
  const auto of_modern = reply_of(talk.finish(talk.started().at(0).key).at(0)).at("result");
  CHECK(of_modern.at("resultType") == "complete");
  CHECK(of_modern.at("_meta").contains("io.modelcontextprotocol/serverInfo"));
  const auto of_legacy = reply_of(talk.finish(talk.started().at(1).key).at(0)).at("result");
  CHECK_FALSE(of_legacy.contains("resultType"));
  CHECK_FALSE(of_legacy.contains("_meta"));

  const auto list = reply_of(talk.ask(modern("3", "tools/list"))).at("result");
  CHECK(list.at("ttlMs").is_number_unsigned());
  CHECK(list.at("cacheScope") == "private");
  CHECK_FALSE(reply_of(talk.ask(legacy("4", "tools/list"))).at("result").contains("ttlMs"));
}

TEST_CASE("modern failures of a tool keep both entries of their metadata") {
  Talk talk;
  const auto result =
      reply_of(talk.ask(modern("1", "tools/call", R"("name":"poke","arguments":{},)")))
          .at("result");
  CHECK(result.at("isError") == true);
  CHECK(result.at("resultType") == "complete");
  CHECK(result.at("_meta").at("agentbox/error").at("code") == "INVALID_ARGUMENT");
  CHECK(result.at("_meta").contains("io.modelcontextprotocol/serverInfo"));
}

TEST_CASE("both eras share a channel and leak nothing into each other [15]") {
  Talk talk;
  static_cast<void>(talk.ask(modern("1", "server/discover")));
  CHECK(error_code(talk.ask(legacy("2", "tools/list"))) == rpc::kInvalidParams);
  talk.shake_hands();
  static_cast<void>(talk.ask(legacy("3", "logging/setLevel", R"({"level":"debug"})")));

  static_cast<void>(talk.say(modern("4", "tools/call", kCallLook)));
  CHECK(talk.finish(talk.started().at(0).key).size() == 1);

  static_cast<void>(talk.ask(legacy("5", "logging/setLevel", R"({"level":"error"})")));
  static_cast<void>(talk.say(
      modern("6", "tools/call", kCallLook, R"(,"io.modelcontextprotocol/logLevel":"info")")));
  static_cast<void>(talk.say(legacy("7", "tools/call", R"({"name":"look"})")));
  CHECK(talk.finish(talk.started().at(1).key).size() == 2);
  CHECK(talk.finish(talk.started().at(2).key).size() == 1);
}

TEST_CASE("a modern request is cancelled by a notification with or without envelope") {
  Talk talk;
  static_cast<void>(talk.say(modern("1", "tools/call", kCallLook)));
  static_cast<void>(talk.say(modern("2", "tools/call", kCallLook)));
  CHECK(talk.say(cancel("1")).empty());
  CHECK(talk.say(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,)"
                 R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                 R"("io.modelcontextprotocol/clientCapabilities":{}}}})")
            .empty());
  CHECK(talk.cancelled().size() == 2);
}

TEST_CASE(
    "a subscription is acknowledged first, tagged with its id, and promises nothing [27] [29]") {
  Talk talk;
  CHECK(talk.ask(modern(R"("é")", "subscriptions/listen",
                        R"("notifications":{"toolsListChanged":true,"promptsListChanged":true,)"
                        R"("resourceSubscriptions":["file:///x"],"taskIds":["t"]},)",
                        R"(,"io.modelcontextprotocol/logLevel":"debug")")) ==
        R"({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged",)"
        R"("params":{"notifications":{},"_meta":{"io.modelcontextprotocol/subscriptionId":"é"}}})");
  CHECK(talk.session().listens() == 1);
  CHECK(talk.session().calls_to_answer() == 0);

  // It stays open, and nothing that goes on besides shows on it.
  static_cast<void>(talk.say(modern("2", "tools/call", kCallLook)));
  CHECK(talk.finish(talk.started().at(0).key).size() == 1);

  // Its id is in flight; another one may be opened.
  CHECK(error_code(talk.ask(modern(R"("é")", "tools/list"))) == rpc::kInvalidRequest);
  CHECK(talk.ask(modern("3", "subscriptions/listen", R"("notifications":{},)"))
            .find(R"(subscriptionId":3}})") != std::string::npos);
}

TEST_CASE("a subscription cancelled by its client ends without a word [27]") {
  Talk talk;
  static_cast<void>(talk.ask(modern("1", "subscriptions/listen", R"("notifications":{},)")));
  CHECK(talk.say(cancel(R"("1")")).empty());
  CHECK(talk.session().listens() == 1);
  CHECK(talk.say(cancel("1")).empty());
  CHECK(talk.session().listens() == 0);
  CHECK(talk.end_listens().empty());
  CHECK(error_code(talk.ask(modern("1", "tools/list"))) == 0);
}

TEST_CASE("a subscription that the server ends gets its result [27]") {
  Talk talk;
  static_cast<void>(talk.ask(modern("1", "subscriptions/listen", R"("notifications":{},)")));
  const auto lines = talk.end_listens();
  REQUIRE(lines.size() == 1);
  const auto reply = reply_of(lines.front());
  CHECK(reply.at("id") == 1);
  CHECK(reply.at("result").at("resultType") == "complete");
  CHECK(reply.at("result").at("_meta").at("io.modelcontextprotocol/subscriptionId") == 1);
  CHECK(reply.at("result").at("_meta").contains("io.modelcontextprotocol/serverInfo"));

  talk.session().refuse_calls();
  const auto late = talk.say(modern("2", "subscriptions/listen", R"("notifications":{},)"));
  REQUIRE(late.size() == 2);
  CHECK(late.front().find("acknowledged") != std::string::npos);
  CHECK(reply_of(late.back()).at("id") == 2);
}

TEST_CASE("a subscription without its filter, one too many, or of the other era is refused [27]") {
  Talk talk;
  CHECK(error_code(talk.ask(modern("1", "subscriptions/listen"))) == rpc::kInvalidParams);
  CHECK(error_code(talk.ask(modern("1", "subscriptions/listen", R"("notifications":[],)"))) ==
        rpc::kInvalidParams);
  for (std::size_t i = 0; i < kMaxListens; ++i) {
    CHECK(error_code(talk.ask(
              modern(std::to_string(i), "subscriptions/listen", R"("notifications":{},)"))) == 0);
  }
  CHECK(error_code(talk.ask(modern("99", "subscriptions/listen", R"("notifications":{},)"))) ==
        rpc::kInvalidParams);
  static_cast<void>(talk.say(cancel("0")));
  CHECK(error_code(talk.ask(modern("99", "subscriptions/listen", R"("notifications":{},)"))) == 0);
}

TEST_CASE("messages of a modern call come only while it runs and only where asked for [29]") {
  Talk talk;
  static_cast<void>(talk.say(
      modern("1", "tools/call", kCallLook, R"(,"io.modelcontextprotocol/logLevel":"warning")")));
  CHECK(talk.finish(talk.started().at(0).key).size() == 1);
  static_cast<void>(talk.say(
      modern("2", "tools/call", kCallLook, R"(,"io.modelcontextprotocol/logLevel":"debug")")));
  const auto lines = talk.finish(talk.started().at(1).key);
  REQUIRE(lines.size() == 2);
  CHECK(lines.front().find("notifications/message") != std::string::npos);
  CHECK(reply_of(lines.back()).at("id") == 2);
}

TEST_CASE("a batch is never allowed before a handshake for it") {
  Talk talk;
  CHECK(error_code(talk.ask("[" + modern("1", "server/discover") + "]")) == rpc::kInvalidRequest);
}
