// pure: tests of agentbox/instructions.
#include "agentbox/instructions.h"

#include <vector>

#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::mcp;

namespace {

std::vector<Tool> tools_named(const std::vector<std::string_view>& names) {
  std::vector<Tool> tools;
  for (const std::string_view name : names) {
    Tool tool;
    tool.name = name;
    tool.hints.read_only = name == "read_file";
    tools.push_back(tool);
  }
  return tools;
}

bool names(const std::string& text, std::string_view tool) {
  return text.find(tool) != std::string::npos;
}

}  // namespace

TEST_CASE("instructions speak of the tools that the session has, and of no other") {
  const std::string text =
      instructions(tools_named({"shell_exec", "read_file", "watch_files"}), Role::kAgent);
  CHECK(names(text, "shell_exec"));
  CHECK(names(text, "watch_files"));
  CHECK_FALSE(names(text, "process_start"));
  CHECK_FALSE(names(text, "apply_patch"));
}

TEST_CASE("instructions for a reader leave out what it may not call") {
  const std::string text = instructions(tools_named({"shell_exec", "read_file"}), Role::kReader);
  CHECK(names(text, "read_file"));
  CHECK_FALSE(names(text, "shell_exec"));
}

TEST_CASE("instructions without any tool are whole sentences still") {
  const std::string text = instructions({}, Role::kAgent);
  CHECK(text.starts_with("This server is a box"));
  CHECK(text.ends_with('.'));
}
