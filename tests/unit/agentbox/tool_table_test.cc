// edge: the table of real tools, and what may not be in one.
#include "agentbox/tool_table.h"

#include <algorithm>
#include <set>

#include "agentbox/replies.h"
#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::mcp;

namespace {

Tool good_tool() {
  return Tool{.name = "good",
              .title = "Good",
              .description = "Is good.",
              .handler = [](const Arguments&, CallContext&) { return ToolResult(); }};
}

bool refused(const Tool& tool) { return !check_tools(std::vector<Tool>{tool}).ok(); }

const Tool& find_tool(const std::vector<Tool>& tools, std::string_view name) {
  const auto at =
      std::find_if(tools.begin(), tools.end(), [&](const Tool& tool) { return tool.name == name; });
  REQUIRE(at != tools.end());
  return *at;
}

}  // namespace

TEST_CASE("our own table is in order") {
  const auto tools = all_tools();
  const auto checked = check_tools(tools);
  if (!checked.ok()) {
    FAIL(checked.error().what);
  }
  CHECK(tools.size() >= 15);
}

TEST_CASE("a table that clients would choke on is refused") {
  CHECK_FALSE(refused(good_tool()));
  CHECK_FALSE(check_tools(std::vector<Tool>{good_tool(), good_tool()}).ok());
  const auto with = [](auto change) {
    Tool tool = good_tool();
    change(tool);
    return tool;
  };
  const std::string long_text(2048, 'd');
  CHECK(refused(with([](Tool& tool) { tool.name = "Bad name"; })));
  CHECK(refused(with([](Tool& tool) { tool.name = ""; })));
  CHECK(refused(with([](Tool& tool) { tool.title = ""; })));
  CHECK(refused(with([&](Tool& tool) { tool.description = long_text; })));
  CHECK(refused(with([](Tool& tool) { tool.handler = nullptr; })));
  CHECK(refused(with([](Tool& tool) { tool.output_schema = "{"; })));
  CHECK(refused(with([](Tool& tool) { tool.output_schema = R"({"type":"array"})"; })));
  CHECK(refused(with([](Tool& tool) { tool.output_schema = R"({"type":"object","anyOf":[]})"; })));
  CHECK(refused(with([](Tool& tool) { tool.meta = "[]"; })));
  CHECK(refused(with([](Tool& tool) { tool.arguments = {{.name = "a"}, {.name = "a"}}; })));
}

TEST_CASE("each profile holds the tools of the one before it") {
  const auto names_of = [](Profile profile) {
    std::set<std::string_view> names;
    for (const Tool& tool : tools_of(profile)) {
      names.insert(tool.name);
    }
    return names;
  };
  const auto core = names_of(Profile::kCore);
  const auto standard = names_of(Profile::kStandard);
  const auto full = names_of(Profile::kFull);
  CHECK(core.size() < standard.size());
  CHECK(standard.size() < full.size());
  CHECK(full.size() == all_tools().size());
  CHECK(std::includes(standard.begin(), standard.end(), core.begin(), core.end()));
  CHECK(std::includes(full.begin(), full.end(), standard.begin(), standard.end()));
  CHECK(core.contains("shell_exec"));
  CHECK_FALSE(core.contains("read_files"));
  CHECK_FALSE(standard.contains("process_resize"));
  CHECK(core.contains("system_info"));  // by which the operator's programs prove a key
}

TEST_CASE("what is an admin's is called by no other key, and offered to it in every profile") {
  Tool tool = good_tool();
  tool.tier = Tier::kAdmin;
  for (const Role role : kRoles) {
    CHECK(may_call(role, tool) == (role == Role::kAdmin));
  }
  for (const Tool& each : tools_of(Profile::kFull)) {
    if (each.tier == Tier::kAdmin) {
      CHECK(std::ranges::count(tools_of(Profile::kCore), each.name, &Tool::name) == 1);
    }
  }
}

TEST_CASE("what a reader may call changes nothing by its own word") {
  for (const Tool& tool : all_tools()) {
    INFO(tool.name);
    CHECK(may_call(Role::kReader, tool) == (tool.hints.read_only && tool.tier != Tier::kAdmin));
    if (tool.hints.read_only) {
      CHECK_FALSE(tool.hints.destructive);
    }
  }
  CHECK_FALSE(may_call(Role::kReader, find_tool(all_tools(), "shell_exec")));
  CHECK_FALSE(may_call(Role::kReader, find_tool(all_tools(), "write_file")));
  CHECK_FALSE(may_call(Role::kReader, find_tool(all_tools(), "write_random_blob")));
  CHECK_FALSE(may_call(Role::kReader, find_tool(all_tools(), "move_file")));
  CHECK_FALSE(may_call(Role::kReader, find_tool(all_tools(), "delete_file")));
  CHECK_FALSE(may_call(Role::kReader, find_tool(all_tools(), "create_directory")));
}

TEST_CASE("every default that is published keeps to its own bounds") {
  for (const Tool& tool : all_tools()) {
    Json defaults = Json::object();
    const OrderedJson schema = input_schema(tool.arguments);
    for (const auto& [name, about] : schema.at("properties").items()) {
      if (about.contains("default")) {
        defaults[name] = Json::parse(dump_json(about.at("default")));
      }
    }
    std::vector<Argument> optional = tool.arguments;
    for (Argument& argument : optional) {
      argument.required = false;
    }
    const auto read = read_arguments(optional, defaults);
    INFO(tool.name);
    CHECK(read.ok());
  }
}
