// edge: a box of one test's own and calls of its tools, as the server makes them.
#pragma once

#include <sys/prctl.h>
#include <sys/wait.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/job_host.h"
#include "agentbox/process_tree.h"
#include "agentbox/tools/tools.h"
#include "support/catch.h"
#include "unit/agentbox/temporary_folder.h"

namespace agentbox::test {

// Says that a fixture has a host of jobs.
struct WithJobs {};
inline constexpr WithJobs with_jobs{};

class ToolFixture {
 public:
  ToolFixture() : ToolFixture(mcp::Settings{}) {}
  explicit ToolFixture(mcp::Settings settings) { open(std::move(settings), {}); }
  explicit ToolFixture(WithJobs /*tag*/) {
    auto helper = mcp::start_job_helper(output_.path());
    REQUIRE(helper.ok());
    open({}, std::move(helper->line));
    box_->keepers.spare(helper->pid);
  }
  ToolFixture(const ToolFixture&) = delete;
  ToolFixture& operator=(const ToolFixture&) = delete;
  ~ToolFixture() {
    end();
    CHECK(no_children_left());  // before the folders go that it writes to
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

  // Waits for the host of jobs, which ends all it hosts first. True where every child has gone.
  [[nodiscard]] static bool no_children_left() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < deadline) {
      if (::waitpid(-1, nullptr, WNOHANG) < 0) {
        return true;
      }
      std::this_thread::yield();
    }
    return false;
  }
  [[nodiscard]] static std::size_t children_left() {
    mcp::PidList list;
    mcp::append_children(::getpid(), list);
    return list.count;
  }

 private:
  void open(mcp::Settings settings, UniqueFd jobs) {
    REQUIRE(::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
    settings.workspace = root_.path();
    settings.out = output_.path();
    auto box = mcp::open_box(settings, std::move(jobs));
    REQUIRE(box.ok());
    box_ = std::move(*box);
  }

  TemporaryFolder root_;
  TemporaryFolder output_;
  mcp::CancelSignal cancel_ = mcp::CancelSignal::create().value();
  std::unique_ptr<mcp::Box> box_;
  mcp::CallFacts facts_;
};

}  // namespace agentbox::test
