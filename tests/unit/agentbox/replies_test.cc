// pure: results in the form of each revision.
#include "agentbox/replies.h"

#include "agentbox/limits.h"
#include "base/text.h"
#include "support/catch.h"
#include "talk.h"

using namespace agentbox;
using namespace agentbox::mcp;
using namespace agentbox::mcp::test;

namespace {

Json parsed(const std::string& text) {
  auto value = parse_json(text);
  REQUIRE(value.ok());
  return std::move(value).value();
}

}  // namespace

TEST_CASE("a tool is listed with the fields its reader's revision has") {
  for (const Version version : all_versions()) {
    const auto tool =
        parsed(tools_list_result(two_tools(), Role::kAgent, version)).at("tools").at(0);
    INFO(features(version).name);
    const bool since_june = version >= Version::k2025_06_18;
    CHECK(tool.contains("title") == since_june);
    CHECK(tool.contains("outputSchema") == since_june);
    CHECK(tool.contains("_meta") == since_june);
    CHECK(tool.contains("annotations") == (version >= Version::k2025_03_26));
    CHECK(tool.at("inputSchema").at("type") == "object");
    CHECK_FALSE(tool.contains("execution"));
  }
}

TEST_CASE("all four hints are always published") {
  const auto tools = parsed(tools_list_result(two_tools(), Role::kAgent, Version::k2025_11_25));
  CHECK(tools.at("tools").at(0).at("annotations") ==
        Json::parse(R"({"title":"Poke","readOnlyHint":false,"destructiveHint":true,)"
                    R"("idempotentHint":false,"openWorldHint":true})"));
  CHECK(tools.at("tools").at(1).at("annotations").at("readOnlyHint") == true);
}

TEST_CASE("structured content goes to revisions that have it") {
  ToolResult result;
  result.texts = {"text"};
  result.structured = {{"a", 1}};
  for (const Version version : all_versions()) {
    const auto json = parsed(render_tool_result("poke", result, version).json);
    CHECK(json.contains("structuredContent") == (version >= Version::k2025_06_18));
    CHECK(json.at("content").at(0).at("text") == "text");
  }
}

TEST_CASE("several texts are several blocks and none is an empty array") {
  ToolResult result;
  CHECK(parsed(render_tool_result("poke", result, Version::k2025_11_25).json).at("content") ==
        Json::array());
  result.texts = {"a", "b"};
  CHECK(
      parsed(render_tool_result("poke", result, Version::k2025_11_25).json).at("content").size() ==
      2);
}

TEST_CASE("an error's text is complete: tool, code, cause, next step") {
  const auto failure = tool_failure("ENOENT", "no such file: a.txt", "Create it first");
  CHECK(error_text("read_file", *failure.error) ==
        "read_file: ENOENT: no such file: a.txt. Create it first.");
  CHECK(error_text("t", ToolError{.code = "X", .message = "What?", .hint = "Really!"}) ==
        "t: X: What? Really!");
  CHECK(error_text("t", ToolError{.code = "X", .message = "m", .verbatim = "as it stands"}) ==
        "as it stands");
}

TEST_CASE("an error carries its code, path and details as metadata and nothing structured") {
  ToolResult result = tool_failure("ENOENT", "no such file");
  result.error->path = "a.txt";
  result.error->details = {{"nearest", "b.txt"}};
  result.structured = {{"a", 1}};
  result.texts = {"ignored"};
  const auto rendered = render_tool_result("read_file", result, Version::k2025_11_25);
  CHECK(rendered.failed);
  CHECK(rendered.code == "ENOENT");
  const auto json = parsed(rendered.json);
  CHECK(json.at("_meta").at("agentbox/error") ==
        Json::parse(R"({"code":"ENOENT","path":"a.txt","details":{"nearest":"b.txt"}})"));
  CHECK_FALSE(json.contains("structuredContent"));
  CHECK(json.at("content").size() == 1);
}

TEST_CASE("bytes that are no UTF-8 never break a reply [H3-008]") {
  ToolResult result;
  result.texts = {"\377\376\300\200 ok"};
  result.structured = {{"name", "fo\377o"}};
  const auto rendered = render_tool_result("poke", result, Version::k2025_11_25);
  CHECK(is_utf8(rendered.json));
  CHECK(parsed(rendered.json).at("content").at(0).at("text").get<std::string>().ends_with(" ok"));
}

TEST_CASE("a result counts with both its copies against the limit") {
  ToolResult result;
  result.texts = {std::string(kMaxResultBytes / 2, 'x')};
  CHECK_FALSE(render_tool_result("poke", result, Version::k2025_11_25).failed);
  result.structured = {{"text", std::string(kMaxResultBytes / 2, 'x')}};
  CHECK(render_tool_result("poke", result, Version::k2025_11_25).code == "TOO_LARGE");
  CHECK_FALSE(render_tool_result("poke", result, Version::k2024_11_05).failed);
}
