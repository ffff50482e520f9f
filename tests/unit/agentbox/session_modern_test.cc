// pure: the session without a handshake, and both eras on one channel.
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
        "tasks/result", "subscriptions/listen"}) {
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

TEST_CASE("a batch is never allowed before a handshake for it") {
  Talk talk;
  CHECK(error_code(talk.ask("[" + modern("1", "server/discover") + "]")) == rpc::kInvalidRequest);
}
