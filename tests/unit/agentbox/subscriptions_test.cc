// pure: who is told of changes of resources, in both eras.
#include "agentbox/subscriptions.h"

#include <set>

#include "agentbox/limits.h"
#include "agentbox/session.h"
#include "support/catch.h"
#include "talk.h"

using namespace agentbox;
using namespace agentbox::mcp;
using namespace agentbox::mcp::test;

namespace {

const std::vector<Method>& some_methods() {
  static const std::vector<Method> methods{{.name = "resources/list"}, {.name = "resources/read"}};
  return methods;
}

// A session that has resources.
struct ResourceTalk : Talk {
  explicit ResourceTalk(Role role = Role::kAgent) : Talk(role, some_methods()) {}

  std::string subscribe(std::string_view id, const std::string& uri) {
    return ask(legacy(id, "resources/subscribe", R"({"uri":")" + uri + "\"}"));
  }
  // The same, with its watch begun.
  std::string subscribed(std::string_view id, const std::string& uri) {
    const std::size_t before = watches().size();
    const std::string answer = subscribe(id, uri);
    if (watches().size() == before) {
      return answer;
    }
    const auto lines = watch_started(watches().back().key);
    return lines.size() == 1 ? lines.front() : "<" + std::to_string(lines.size()) + " lines>";
  }
  std::vector<std::string> change(WatchKey key) {
    session().on_watch_changed(key, now());
    pass(kUpdateInterval);
    return updates();
  }
};

std::string ack(std::string_view id, std::string_view notifications) {
  return R"({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":)" +
         std::string(notifications) + R"(,"_meta":{"io.modelcontextprotocol/subscriptionId":)" +
         std::string(id) + "}}}";
}

std::string listen(std::string_view id, std::string_view notifications) {
  return modern(id, "subscriptions/listen",
                R"("notifications":)" + std::string(notifications) + ",");
}

std::string updated(std::string_view uri, std::string_view id = "") {
  return R"({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":")" +
         std::string(uri) + "\"" +
         (id.empty()
              ? ""
              : R"(,"_meta":{"io.modelcontextprotocol/subscriptionId":)" + std::string(id) + "}") +
         "}}";
}

std::string empty_result_to(std::string_view id) {
  return R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"result":{}})";
}

const std::string kFile = "file:///w/a";

}  // namespace

TEST_CASE("a session is told of what it subscribed to, until it unsubscribes [27]") {
  ResourceTalk talk;
  talk.shake_hands();
  CHECK(talk.say(legacy("1", "resources/subscribe", R"({"uri":"file:///w/a"})")).empty());
  CHECK(talk.session().calls_to_answer() == 1);
  REQUIRE(talk.watches().size() == 1);
  CHECK(talk.watches().front().uri == kFile);
  const WatchKey key = talk.watches().front().key;
  CHECK(talk.watch_started(key) == std::vector{empty_result_to("1")});
  CHECK(talk.session().calls_to_answer() == 0);

  CHECK(talk.change(key) == std::vector{updated(kFile)});
  CHECK(talk.subscribe("2", kFile) == empty_result_to("2"));
  CHECK(talk.watches().size() == 1);
  CHECK(talk.ask(legacy("3", "resources/unsubscribe", R"({"uri":"file:///w/a"})")) ==
        empty_result_to("3"));
  CHECK(talk.stopped() == std::vector{key});
  CHECK(talk.change(key).empty());
  CHECK(talk.ask(legacy("4", "resources/unsubscribe", R"({"uri":"file:///w/never"})")) ==
        empty_result_to("4"));
}

TEST_CASE("what cannot be subscribed to is refused with its URI [25]") {
  ResourceTalk talk;
  talk.shake_hands();
  CHECK(error_code(talk.subscribe("1", "agentbox://nothing")) == -32002);
  CHECK(error_code(talk.subscribe("2", "file:///w/../x")) == rpc::kInvalidParams);
  CHECK(error_code(talk.subscribe("3", "agentbox://audit")) == rpc::kInvalidParams);
  CHECK(error_code(talk.ask(legacy("4", "resources/subscribe"))) == rpc::kInvalidParams);
  CHECK(talk.subscribe("5", "agentbox://nothing").find(R"("data":{"uri":"agentbox://nothing"})") !=
        std::string::npos);
  CHECK(talk.watches().empty());
}

TEST_CASE("subscriptions are one era's each, and need resources") {
  ResourceTalk talk;
  talk.shake_hands();
  CHECK(error_code(talk.ask(modern("1", "resources/subscribe", R"("uri":"file:///w/a",)"))) ==
        rpc::kMethodNotFound);
  CHECK(error_code(talk.ask(legacy("2", "subscriptions/listen", R"({"notifications":{}})"))) ==
        rpc::kMethodNotFound);
  Talk bare;
  bare.shake_hands();
  CHECK(error_code(bare.ask(legacy("1", "resources/subscribe", R"({"uri":"file:///w/a"})"))) ==
        rpc::kMethodNotFound);
}

TEST_CASE("changes in quick succession are told of once, and the last one always") {
  ResourceTalk talk;
  talk.shake_hands();
  static_cast<void>(talk.subscribed("1", kFile));
  const WatchKey key = talk.watches().front().key;
  for (int i = 0; i < 1000; ++i) {
    talk.session().on_watch_changed(key, talk.now());
  }
  CHECK(talk.updates().empty());
  CHECK(talk.session().next_update() == talk.now() + kUpdateInterval);
  talk.pass(kUpdateInterval);
  CHECK(talk.updates().size() == 1);
  CHECK_FALSE(talk.session().next_update());
  CHECK(talk.updates().empty());
  CHECK(talk.change(key).size() == 1);
}

TEST_CASE("a session has at most 64 resources to be told of") {
  ResourceTalk talk;
  talk.shake_hands();
  for (std::size_t i = 0; i < kMaxSubscriptions; ++i) {
    CHECK(error_code(talk.subscribed("1", "file:///w/" + std::to_string(i))) == 0);
  }
  CHECK(error_code(talk.subscribe("2", "file:///w/more")) == rpc::kInvalidParams);
  CHECK(error_code(talk.subscribe("3", "file:///w/7")) == 0);
  // The rest of them have no room either, and are left out of what is promised.
  CHECK(talk.ask(listen("4", R"({"resourceSubscriptions":["file:///w/x"]})")) == ack("4", "{}"));
  static_cast<void>(talk.ask(legacy("5", "resources/unsubscribe", R"({"uri":"file:///w/7"})")));
  CHECK(error_code(talk.subscribed("6", "file:///w/more")) == 0);
}

TEST_CASE("a new handshake ends what the old one subscribed to [11]") {
  ResourceTalk talk;
  talk.shake_hands();
  static_cast<void>(talk.subscribed("1", kFile));
  const WatchKey key = talk.watches().front().key;
  CHECK(talk.say(legacy("2", "resources/subscribe", R"({"uri":"file:///w/b"})")).empty());
  const auto lines = talk.say(legacy("3", "initialize", R"({"protocolVersion":"2025-06-18"})"));
  REQUIRE(lines.size() == 2);
  CHECK(lines.front() == empty_result_to("2"));
  CHECK(talk.stopped().size() == 2);
  CHECK(talk.change(key).empty());
}

TEST_CASE("only who has a list is told that it has changed") {
  ResourceTalk talk;
  talk.shake_hands();
  CHECK(talk.watches().empty());
  static_cast<void>(talk.say(legacy("1", "resources/list")));
  REQUIRE(talk.watches().size() == 1);
  CHECK(talk.watches().front().uri == kResourceList);
  static_cast<void>(talk.watch_started(talk.watches().front().key));
  static_cast<void>(talk.say(legacy("2", "resources/list")));
  CHECK(talk.watches().size() == 1);
  CHECK(talk.change(talk.watches().front().key) ==
        std::vector<std::string>{
            R"({"jsonrpc":"2.0","method":"notifications/resources/list_changed","params":{}})"});
  // In the other era a client says itself what it wants to hear of.
  ResourceTalk other;
  static_cast<void>(other.say(modern("1", "resources/list")));
  CHECK(other.watches().empty());
}

TEST_CASE("a subscription is acknowledged with what it gets, once that is watched [27]") {
  ResourceTalk talk;
  const auto ask = listen("\"s\"", R"({"toolsListChanged":true,"promptsListChanged":true,)"
                                   R"("resourcesListChanged":true,"taskIds":["t"],)"
                                   R"("resourceSubscriptions":["file:///w/b","file:///w/a",)"
                                   R"("file:///w/b","file:///w/../x","agentbox://audit"]})");
  CHECK(talk.say(ask).empty());
  REQUIRE(talk.watches().size() == 3);
  for (const StartWatch& watch : talk.watches()) {
    talk.session().on_watch_changed(watch.key, talk.now());
  }
  talk.pass(kUpdateInterval);
  CHECK(talk.updates().empty());  // nothing comes before the acknowledgement
  CHECK(talk.watch_started(talk.watches()[0].key).empty());
  CHECK(talk.watch_started(talk.watches()[1].key).empty());
  CHECK(talk.watch_started(talk.watches()[2].key) ==
        std::vector{ack("\"s\"", R"({"resourcesListChanged":true,)"
                                 R"("resourceSubscriptions":["file:///w/b","file:///w/a"]})")});
  CHECK(talk.change(talk.watches()[1].key) == std::vector{updated(kFile, "\"s\"")});
}

TEST_CASE("what cannot be watched is left out of what is promised") {
  ResourceTalk talk;
  static_cast<void>(
      talk.say(listen("1", R"({"resourceSubscriptions":["file:///w/a","file:///w/b"]})")));
  REQUIRE(talk.watches().size() == 2);
  CHECK(talk.watch_failed(talk.watches()[0].key).empty());
  CHECK(talk.watch_started(talk.watches()[1].key) ==
        std::vector{ack("1", R"({"resourceSubscriptions":["file:///w/b"]})")});
  talk.shake_hands();
  static_cast<void>(talk.say(legacy("2", "resources/subscribe", R"({"uri":"file:///w/a"})")));
  const auto refused = talk.watch_failed(talk.watches().back().key);
  REQUIRE(refused.size() == 1);
  CHECK(error_code(refused.front()) == rpc::kInternalError);
}

TEST_CASE("each subscription to a resource is told by its own id, and ends alone") {
  ResourceTalk talk;
  talk.shake_hands();
  static_cast<void>(talk.subscribed("1", kFile));
  const WatchKey key = talk.watches().front().key;
  const std::string wanted = R"({"resourceSubscriptions":["file:///w/a"]})";
  CHECK(talk.ask(listen("7", wanted)) == ack("7", wanted));
  CHECK(talk.ask(listen("\"7\"", wanted)) == ack("\"7\"", wanted));
  CHECK(talk.watches().size() == 1);
  const auto told = talk.change(key);
  CHECK(std::set(told.begin(), told.end()) ==
        std::set{updated(kFile), updated(kFile, "7"), updated(kFile, "\"7\"")});

  CHECK(talk.say(cancel("7")).empty());
  CHECK(talk.change(key).size() == 2);
  static_cast<void>(talk.ask(legacy("8", "resources/unsubscribe", R"({"uri":"file:///w/a"})")));
  CHECK(talk.stopped().empty());
  CHECK(talk.change(key) == std::vector{updated(kFile, "\"7\"")});
  CHECK(talk.end_listens().size() == 1);
  CHECK(talk.stopped() == std::vector{key});
  CHECK(talk.session().listens() == 0);
}

TEST_CASE("a request to subscribe that is cancelled leaves nothing behind [21]") {
  ResourceTalk talk;
  talk.shake_hands();
  CHECK(talk.say(legacy("1", "resources/subscribe", R"({"uri":"file:///w/a"})")).empty());
  CHECK(talk.say(listen("2", R"({"resourceSubscriptions":["file:///w/b"]})")).empty());
  CHECK(error_code(talk.ask(legacy("1", "ping"))) == rpc::kInvalidRequest);
  CHECK(talk.say(cancel("1")).empty());
  CHECK(talk.say(cancel("2")).empty());
  CHECK(talk.stopped().size() == 2);
  CHECK(talk.session().calls_to_answer() == 0);
  CHECK(talk.session().listens() == 0);
  for (const StartWatch& watch : std::vector(talk.watches())) {
    CHECK(talk.watch_started(watch.key).empty());
    CHECK(talk.change(watch.key).empty());
  }
}

TEST_CASE("at the end what waits for a watch is answered all the same [39]") {
  ResourceTalk talk;
  talk.shake_hands();
  CHECK(talk.say(legacy("1", "resources/subscribe", R"({"uri":"file:///w/a"})")).empty());
  CHECK(talk.say(listen("2", R"({"resourceSubscriptions":["file:///w/b"]})")).empty());
  const auto ended = talk.end_listens();
  REQUIRE(ended.size() == 2);
  CHECK(ended[0].find("acknowledged") != std::string::npos);
  talk.session().refuse_calls();
  const auto abandoned = talk.abandon();
  REQUIRE(abandoned.size() == 1);
  CHECK(error_code(abandoned.front()) == rpc::kInternalError);
  CHECK(error_code(talk.subscribe("3", kFile)) == rpc::kInternalError);
  CHECK(talk.session().calls_to_answer() == 0);
}

TEST_CASE("a batch waits for the subscription in it, and holds no listening one [38]") {
  ResourceTalk talk;
  talk.shake_hands("2025-03-26");
  CHECK(talk.say("[" + legacy("1", "resources/subscribe", R"({"uri":"file:///w/a"})") + "," +
                 legacy("2", "ping") + "]")
            .empty());
  CHECK(talk.watch_started(talk.watches().front().key) ==
        std::vector{"[" + empty_result_to("2") + "," + empty_result_to("1") + "]"});
  const auto refused = talk.ask("[" + listen("3", "{}") + "]");
  CHECK(refused.find("-32600") != std::string::npos);
  CHECK(talk.session().listens() == 0);
}

TEST_CASE("a malformed list of what to hear of is refused") {
  ResourceTalk talk;
  CHECK(error_code(talk.ask(listen("1", R"({"resourceSubscriptions":"file:///w/a"})"))) ==
        rpc::kInvalidParams);
  CHECK(error_code(talk.ask(listen("2", R"({"resourceSubscriptions":[1]})"))) ==
        rpc::kInvalidParams);
  CHECK(error_code(talk.ask(listen("3", "[]"))) == rpc::kInvalidParams);
  CHECK(talk.ask(listen("4", R"({"resourcesListChanged":1})")) == ack("4", "{}"));
}
