// edge: a box of one test's own and requests to it besides tools/call.
#pragma once

#include <string>
#include <string_view>

#include "agentbox/call.h"
#include "agentbox/method_table.h"
#include "unit/agentbox/tool_fixture.h"

namespace agentbox::test {

class MethodFixture : public ToolFixture {
 public:
  using ToolFixture::ToolFixture;

  mcp::CallHistory history;  ///< of the calls before

  mcp::MethodReply ask(std::string_view name, const std::string& params,
                       mcp::Version version = mcp::Version::k2025_11_25,
                       mcp::Role role = mcp::Role::kAgent) {
    const auto given = parse_json(params);
    REQUIRE(given.ok());
    for (const mcp::Method& method : methods_) {
      if (method.name == name) {
        mcp::CallContext context(box(), cancel());
        return method.handler(
            {.version = version, .role = role, .params = *given, .history = history}, context);
      }
    }
    FAIL("no such method");
    return {};
  }
  OrderedJson result(std::string_view name, const std::string& params,
                     mcp::Version version = mcp::Version::k2025_11_25,
                     mcp::Role role = mcp::Role::kAgent) {
    mcp::MethodReply reply = ask(name, params, version, role);
    INFO((reply.failure ? reply.failure->message : ""));
    REQUIRE(!reply.failure);
    return std::move(reply.result);
  }
  /// The error's code, 0 where there is none.
  int code(std::string_view name, const std::string& params,
           mcp::Version version = mcp::Version::k2025_11_25, mcp::Role role = mcp::Role::kAgent) {
    const mcp::MethodReply reply = ask(name, params, version, role);
    return reply.failure ? reply.failure->code : 0;
  }

 private:
  std::vector<mcp::Method> methods_ = mcp::all_methods();
};

}  // namespace agentbox::test
