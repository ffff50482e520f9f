// edge: see tool_table.h.
#include "agentbox/tool_table.h"

#include <algorithm>
#include <set>
#include <string>

#include "agentbox/tools/code_tools.h"
#include "agentbox/tools/tools.h"

namespace agentbox::mcp {
namespace {

// Clients cut descriptions here.
constexpr std::size_t kMaxDescriptionBytes = 2048;
constexpr std::size_t kMaxNameBytes = 64;

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

bool is_offered(Tier tier, Profile profile) {
  switch (tier) {
    case Tier::kCore:
    case Tier::kAdmin:  // the role decides
      return true;
    case Tier::kStandard:
      return profile != Profile::kCore;
    case Tier::kFull:
      return profile == Profile::kFull;
  }
  return false;
}

Status check_object(std::string_view text, std::string_view what) {
  if (text.empty()) {
    return {};
  }
  auto value = parse_json(text);
  if (!value.ok()) {
    return std::move(value).error().in(what);
  }
  if (!value->is_object()) {
    return Error{Code::kInvalid, std::string(what) + ": not a JSON object"};
  }
  return {};
}

Status check_output_schema(const Tool& tool) {
  AB_CHECK(check_object(tool.output_schema, "output schema"));
  if (tool.output_schema.empty()) {
    return {};
  }
  AB_TRY(schema, parse_json(tool.output_schema));
  const std::string* type = find_string(schema, "type");
  if (type == nullptr || *type != "object") {
    return Error{Code::kInvalid, "output schema: its root must have \"type\": \"object\""};
  }
  for (const char* const word : {"oneOf", "anyOf", "allOf", "if", "not", "$ref"}) {
    if (schema.contains(word)) {
      return Error{Code::kInvalid, "output schema: " + std::string(word) + " at its root"};
    }
  }
  return {};
}

Status check_tool(const Tool& tool) {
  if (!is_name(tool.name) || tool.title.empty() || tool.description.empty() ||
      tool.description.size() >= kMaxDescriptionBytes || tool.handler == nullptr) {
    return Error{Code::kInvalid, "name, title, description or handler missing or out of bounds"};
  }
  std::set<std::string_view> names;
  for (const Argument& argument : tool.arguments) {
    if (!is_name(argument.name) || !names.insert(argument.name).second) {
      return Error{Code::kInvalid, "argument " + std::string(argument.name) + " is misnamed"};
    }
  }
  AB_CHECK(check_object(tool.meta, "metadata"));
  return check_output_schema(tool);
}

}  // namespace

std::vector<Tool> all_tools() {
  std::vector<Tool> tools;
  tools.push_back(shell_exec_tool());
  tools.push_back(process_start_tool());
  tools.push_back(process_list_tool());
  tools.push_back(process_output_tool());
  tools.push_back(process_input_tool());
  tools.push_back(process_kill_tool());
  tools.push_back(process_resize_tool());
  tools.push_back(read_file_tool());
  tools.push_back(write_file_tool());
  tools.push_back(edit_file_tool());
  tools.push_back(apply_edits_tool());
  tools.push_back(apply_patch_tool());
  tools.push_back(list_directory_tool());
  tools.push_back(move_file_tool());
  tools.push_back(copy_file_tool());
  tools.push_back(delete_file_tool());
  tools.push_back(tail_log_tool());
  tools.push_back(watch_files_tool());
  tools.push_back(file_info_tool());
  tools.push_back(create_directory_tool());
  tools.push_back(read_files_tool());
  tools.push_back(read_media_tool());
  tools.push_back(glob_files_tool());
  tools.push_back(search_files_tool());
  tools.push_back(download_chunk_tool());
  tools.push_back(upload_chunk_tool());
  tools.push_back(code_execute_tool());
  tools.push_back(code_context_create_tool());
  tools.push_back(code_context_list_tool());
  tools.push_back(code_context_delete_tool());
  tools.push_back(set_permissions_tool());
  tools.push_back(list_ports_tool());
  tools.push_back(list_blobs_tool());
  tools.push_back(write_random_blob_tool());
  tools.push_back(read_blob_tool());
  tools.push_back(system_info_tool());
  tools.push_back(sandbox_reset_tool());
  return tools;
}

std::vector<Tool> tools_of(Profile profile) {
  std::vector<Tool> tools = all_tools();
  std::erase_if(tools, [&](const Tool& tool) { return !is_offered(tool.tier, profile); });
  return tools;
}

Status check_tools(std::span<const Tool> tools) {
  std::set<std::string_view> names;
  for (const Tool& tool : tools) {
    if (!names.insert(tool.name).second) {
      return Error{Code::kInvalid, "tool " + std::string(tool.name) + " is listed twice"};
    }
    if (auto checked = check_tool(tool); !checked.ok()) {
      return std::move(checked).error().in("tool " + std::string(tool.name));
    }
  }
  return {};
}

}  // namespace agentbox::mcp
