// pure: what is read from a tool's result.
#include "provision/mcp_reply.h"
#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::provision;

TEST_CASE("the text of a result is its text blocks, one after another") {
  const Json result =
      parse_json(R"({"content":[{"type":"text","text":"a\n"},{"type":"image","data":""},
                                     {"type":"text","text":"b"}],"isError":true})")
          .value();
  CHECK(text_of_result(result) == "a\nb\n");
  CHECK(is_error_result(result));
}

TEST_CASE("a result of another shape has no text and is no error") {
  CHECK(text_of_result(Json::array()).empty());
  CHECK(text_of_result(Json{{"content", "x"}}).empty());
  CHECK_FALSE(is_error_result(Json{{"isError", "yes"}}));
}
