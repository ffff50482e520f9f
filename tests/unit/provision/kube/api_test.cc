// pure: tests of provision/kube/api and json_lines.
#include "provision/kube/api.h"

#include "provision/kube/json_lines.h"
#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::provision;
using namespace agentbox::provision::kube;

namespace {

HttpResponse answered(int status, const std::string& body = {}, std::vector<Header> headers = {}) {
  return {status, std::move(headers), body};
}

}  // namespace

TEST_CASE("api: paths") {
  CHECK(path_of(kSecrets, "ns", "x") == "/api/v1/namespaces/ns/secrets/x");
  CHECK(path_of(kSandboxes, "ns") == "/apis/agents.x-k8s.io/v1beta1/namespaces/ns/sandboxes");
  CHECK(path_of(kAccessReviews, "") == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews");
  CHECK(query_escape("a=b,c d/\xc3\xa4") == "a%3db%2cc%20d%2f%c3%a4");
}

TEST_CASE("api: a refusal keeps the server's words and gets its exit code") {
  const Failure conflict = failure_of_answer(
      answered(
          409,
          R"({"kind":"Status","reason":"Conflict","message":"conflict with \"x\": .spec.a\n.spec.b"})"),
      "apply Sandbox a");
  CHECK(conflict.exit == Exit::kRefused);
  CHECK(conflict.message ==
        "apply Sandbox a: the cluster answers 409: conflict with \"x\": .spec.a\\n.spec.b");
  CHECK(failure_of_answer(answered(401), "x").exit == Exit::kNoRights);
  CHECK(failure_of_answer(answered(403, "{}"), "x").exit == Exit::kNoRights);
  CHECK(failure_of_answer(answered(404, "404 page not found\n"), "x").message ==
        "x: the cluster answers 404: 404 page not found\\n");
  CHECK(failure_of_answer(answered(422, "[]"), "x").exit == Exit::kRefused);
  CHECK(failure_of_answer(answered(503), "x").exit == Exit::kUnreachable);
  CHECK(failure_of_answer(answered(302), "x").next.find("redirects") != std::string::npos);
  CHECK(failure_of_answer(answered(500, "\x1b[31m"), "x").message.find('\x1b') ==
        std::string::npos);
}

TEST_CASE("api: what is tried again, and after how long") {
  using std::chrono::milliseconds;
  const auto after = [](int status, std::vector<Header> headers, int attempt, bool repeatable) {
    const auto pause = pause_after(answered(status, "", std::move(headers)), attempt, repeatable);
    return pause ? pause->count() : -1;
  };
  CHECK(after(429, {{"retry-after", "2"}}, 1, false) == 2000);
  CHECK(after(503, {{"retry-after", "1"}}, 9, false) == 1000);
  CHECK(after(503, {{"retry-after", "1"}}, 10, false) == -1);
  CHECK(after(429, {{"retry-after", "99999999999"}}, 1, false) == 30'000);
  CHECK(after(429, {}, 1, false) == 200);
  CHECK(after(503, {}, 1, false) == -1);
  CHECK(after(503, {}, 3, true) == 800);
  CHECK(after(409, {{"retry-after", "1"}}, 1, true) == -1);
  CHECK(after(200, {}, 1, true) == -1);
  CHECK(pause_after_break(Error{Code::kUnavailable, "", 0}, 1, true).has_value());
  CHECK_FALSE(pause_after_break(Error{Code::kUnavailable, "", 0}, 1, false).has_value());
  CHECK_FALSE(pause_after_break(Error{Code::kDenied, "", 0}, 1, true).has_value());
  CHECK_FALSE(pause_after_break(Error{Code::kUnavailable, "", 0}, 5, true).has_value());
}

TEST_CASE("api: warnings of the server") {
  const auto texts = warnings_of(answered(200, "",
                                          {{"warning", R"(299 - "old \"kind\"")"},
                                           {"warning", "199 - \"other\""},
                                           {"warning", "299 - bare"},
                                           {"x", "299 - \"no\""}}));
  CHECK(texts == std::vector<std::string>{"old \"kind\""});
}

TEST_CASE("api: events of a watch") {
  const auto event = [](const char* text) { return read_watch_event(parse_json(text).value()); };
  const auto added =
      event(R"({"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"7"}}})");
  REQUIRE(added.ok());
  CHECK(added->kind == WatchEvent::Kind::kPresent);
  CHECK(added->version == "7");
  CHECK(metadata_text(added->object, "name") == "a");
  CHECK(event(R"({"type":"DELETED","object":{}})")->kind == WatchEvent::Kind::kGone);
  CHECK(event(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}})")->version ==
        "9");
  const auto expired =
      event(R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}})");
  CHECK(expired->kind == WatchEvent::Kind::kExpired);
  CHECK(expired->version.empty());
  CHECK(event(R"({"type":"ERROR","object":{"code":500,"message":"etcd"}})")->kind ==
        WatchEvent::Kind::kFailed);
  CHECK_FALSE(event(R"({"type":"NEW","object":{}})").ok());
  CHECK_FALSE(event(R"({"object":{}})").ok());
  CHECK_FALSE(event("[1]").ok());
}

TEST_CASE("api: lines of JSON arrive in any pieces") {
  const std::string stream = "{\"a\":1}\n\r\n{\"b\":\"\\n\"}\n[1]\n{\"half\":";
  for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
    JsonLines lines;
    std::vector<Json> all;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      auto values = lines.feed(std::string_view(stream).substr(at, piece));
      REQUIRE(values.ok());
      all.insert(all.end(), values->begin(), values->end());
    }
    REQUIRE(all.size() == 3);
    CHECK(all[1] == Json{{"b", "\n"}});
  }
}

TEST_CASE("api: a line that is no JSON, or has no end, is an error") {
  CHECK_FALSE(JsonLines().feed("{]\n").ok());
  JsonLines lines(10);
  CHECK(lines.feed("[1,2,3,4]\n").ok());
  CHECK(lines.feed("[1,2").ok());
  CHECK(lines.feed(",3,4,5]").error().code == Code::kLimit);
}

TEST_CASE("api: what lies deeper in an object") {
  const Json object = Json::parse(R"({"a":{"b":{"c":1}},"d":null})");
  REQUIRE(find_path(object, "a/b/c") != nullptr);
  CHECK(*find_path(object, "a/b/c") == 1);
  CHECK(find_path(object, "a/x/c") == nullptr);
  CHECK(find_path(object, "a/b/c/d") == nullptr);
  CHECK(metadata_text(object, "name").empty());
}
