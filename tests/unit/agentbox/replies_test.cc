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

TEST_CASE("blocks follow the texts in their order") {
  using Kind = ContentBlock::Kind;
  ToolResult result;
  result.texts = {"head"};
  result.blocks = {{.kind = Kind::kText, .bytes = "first"},
                   {.kind = Kind::kImage, .bytes = "\377\330", .mime_type = "image/jpeg"},
                   {.kind = Kind::kText, .bytes = "last"}};
  for (const Version version : all_versions()) {
    CHECK(parsed(render_tool_result("poke", result, version).json).at("content") ==
          Json::parse(R"([{"type":"text","text":"head"},{"type":"text","text":"first"},)"
                      R"({"type":"image","data":"/9g=","mimeType":"image/jpeg"},)"
                      R"({"type":"text","text":"last"}])"));
  }
}

TEST_CASE("audio, resources and links go to revisions that have them") {
  using Kind = ContentBlock::Kind;
  ToolResult result;
  result.blocks = {{.kind = Kind::kAudio, .bytes = "RIFF", .mime_type = "audio/wav"},
                   {.kind = Kind::kResource,
                    .bytes = "%PDF",
                    .mime_type = "application/pdf",
                    .uri = "file:///w/a.pdf"},
                   {.kind = Kind::kLink,
                    .mime_type = "text/plain",
                    .uri = "file:///w/log",
                    .name = "log",
                    .size = 7},
                   {.kind = Kind::kLink, .uri = "file:///w/b", .name = "b"}};
  for (const Version version : all_versions()) {
    INFO(features(version).name);
    const auto content = parsed(render_tool_result("poke", result, version).json).at("content");
    if (version >= Version::k2025_03_26) {
      CHECK(content.at(0) ==
            Json::parse(R"({"type":"audio","data":"UklGRg==","mimeType":"audio/wav"})"));
    } else {
      CHECK(content.at(0).at("text") ==
            "[audio, audio/wav, 4 bytes: this revision of the protocol cannot carry it]");
    }
    CHECK(content.at(1) == Json::parse(R"({"type":"resource","resource":{"uri":"file:///w/a.pdf",)"
                                       R"("mimeType":"application/pdf","blob":"JVBERg=="}})"));
    if (version >= Version::k2025_06_18) {
      CHECK(content.at(2) ==
            Json::parse(R"({"type":"resource_link","uri":"file:///w/log","name":"log",)"
                        R"("mimeType":"text/plain","size":7})"));
      CHECK(content.at(3) ==
            Json::parse(R"({"type":"resource_link","uri":"file:///w/b","name":"b"})"));
    } else {
      CHECK(content.at(2) == Json::parse(R"({"type":"text",)"
                                         R"("text":"[log: file:///w/log, text/plain, 7 bytes]"})"));
      CHECK(content.at(3).at("text") == "[b: file:///w/b]");
    }
  }
}

TEST_CASE("a block counts encoded against the limit") {
  ToolResult result;
  result.blocks = {{.kind = ContentBlock::Kind::kImage,
                    .bytes = std::string(kMaxResultBytes / 4 * 3 - 1024, '\0'),
                    .mime_type = "image/png"}};
  CHECK_FALSE(render_tool_result("poke", result, Version::k2025_11_25).failed);
  result.blocks.front().bytes.append(2048, '\0');
  CHECK(render_tool_result("poke", result, Version::k2025_11_25).code == "TOO_LARGE");
}
