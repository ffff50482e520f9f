// pure: tests of base/json.
#include "base/json.h"

#include "support/catch.h"

using namespace agentbox;

TEST_CASE("nesting past the limit is refused before the library sees it") {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  const auto result = parse_json(deep);
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().code == Code::kLimit);
  CHECK(parse_json(std::string(128, '[') + std::string(128, ']')).ok());
  CHECK_FALSE(parse_json(std::string(129, '[') + std::string(129, ']')).ok());
}

TEST_CASE("brackets, commas and colons inside strings are not counted") {
  const std::string text = "\"" + std::string(300, '[') + std::string(300'000, ',') + "\\\"" +
                           std::string(60'000, ':') + "\"";
  CHECK(parse_json(text).ok());
}

TEST_CASE("more values or keys than the limits are refused") {
  std::string many = "[0";
  for (int i = 0; i < 200'001; ++i) {
    many += ",0";
  }
  CHECK(parse_json(many + "]").error().code == Code::kLimit);
  JsonLimits limits;
  limits.keys = 1;
  CHECK(parse_json(R"({"a":1})", limits).ok());
  CHECK(parse_json(R"({"a":1,"b":2})", limits).error().code == Code::kLimit);
}

TEST_CASE("bad JSON and bad UTF-8 are errors, not exceptions") {
  for (const char* bad :
       {"", "{", "{not json", "[1,]", "\"\xff\"", "nul", "1 2", "\"\\", "\"abc"}) {
    const auto result = parse_json(bad);
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().code == Code::kInvalid);
  }
}

TEST_CASE("dumping invalid UTF-8 replaces it and never throws") {
  CHECK(dump_json(Json("a\xff")) == "\"a\xef\xbf\xbd\"");
  OrderedJson ordered;
  ordered["z"] = 1;
  ordered["a"] = "line\nbreak";
  CHECK(dump_json(ordered) == R"({"z":1,"a":"line\nbreak"})");
}

TEST_CASE("looking for a member of something that is no object finds nothing") {
  CHECK(find_member(Json(3), "a") == nullptr);
  const Json object = parse_json(R"({"a":"x","b":1})").value();
  CHECK(*find_string(object, "a") == "x");
  CHECK(find_string(object, "b") == nullptr);
  CHECK(find_string(object, "c") == nullptr);
}
