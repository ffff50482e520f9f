// edge: a box of one test's own and calls of its tools, as the server makes them.
#pragma once

#include <sys/prctl.h>

#include <memory>
#include <string>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/process_tree.h"
#include "agentbox/tools/tools.h"
#include "support/catch.h"
#include "unit/agentbox/temporary_folder.h"

namespace agentbox::test {

class ToolFixture {
 public:
  ToolFixture() : ToolFixture(mcp::Settings{}) {}
  explicit ToolFixture(mcp::Settings settings) : cancel_(mcp::CancelSignal::create().value()) {
    REQUIRE(::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
    settings.workspace = root_.path();
    settings.out = output_.path();
    auto box = mcp::open_box(settings);
    REQUIRE(box.ok());
    box_ = std::move(*box);
  }

  // Checks the arguments as the server does, then runs the handler.
  mcp::ToolResult call(const mcp::Tool& tool, const std::string& arguments) {
    auto given = parse_json(arguments);
    REQUIRE(given.ok());
    auto read = mcp::read_arguments(tool.arguments, *given);
    if (!read.ok()) {
      return mcp::tool_failure("INVALID_ARGUMENT", read.error().what);
    }
    mcp::CallContext context(*box_, cancel_);
    auto result = tool.handler(*read, context);
    facts_ = context.facts();
    return result;
  }
  OrderedJson structured(const mcp::Tool& tool, const std::string& arguments) {
    const mcp::ToolResult result = call(tool, arguments);
    INFO((result.error ? result.error->message : ""));
    REQUIRE(!result.error);
    return result.structured;
  }
  std::string text(const mcp::Tool& tool, const std::string& arguments) {
    const mcp::ToolResult result = call(tool, arguments);
    REQUIRE(!result.error);
    REQUIRE(result.texts.size() == 1);
    return result.texts.front();
  }
  // The error's code, empty where there is none.
  std::string code(const mcp::Tool& tool, const std::string& arguments) {
    const mcp::ToolResult result = call(tool, arguments);
    return result.error ? result.error->code : "";
  }

  [[nodiscard]] std::string at(std::string_view name) const { return root_.at(name); }
  [[nodiscard]] const std::string& root() const { return root_.path(); }
  [[nodiscard]] const std::string& output() const { return output_.path(); }
  [[nodiscard]] mcp::CancelSignal& cancel() { return cancel_; }
  [[nodiscard]] mcp::Box& box() { return *box_; }
  [[nodiscard]] const mcp::CallFacts& facts() const { return facts_; }
  void end() { box_.reset(); }

  [[nodiscard]] static std::size_t children_left() {
    mcp::PidList list;
    mcp::append_children(::getpid(), list);
    return list.count;
  }

 private:
  TemporaryFolder root_;
  TemporaryFolder output_;
  mcp::CancelSignal cancel_;
  std::unique_ptr<mcp::Box> box_;
  mcp::CallFacts facts_;
};

}  // namespace agentbox::test
