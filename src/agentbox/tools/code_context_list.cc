// edge: code_context_list: the contexts that live, and the languages there are.
#include <string>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/contexts.h"
#include "agentbox/job_folder.h"
#include "agentbox/process_words.h"
#include "agentbox/timestamps.h"
#include "agentbox/tools/code_tools.h"

namespace agentbox::mcp {
namespace {

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"contexts":{"type":"array","items":{"type":"object","properties":{
"context_id":{"type":"string"},"name":{"type":"string"},"language":{"type":"string"},
"default":{"type":"boolean","description":"code_execute uses it where no context_id is given."},
"busy":{"type":"boolean"},"execution_count":{"type":"integer"},
"answers":{"type":"boolean","description":"False: its host did not answer in time; what is said of it is little."},
"pid":{"type":"integer","description":"Of the interpreter; absent: none runs now, the next execution starts one."},
"cwd":{"type":"string","description":"Where the interpreter started."},
"created_at":{"type":"string"},"last_used_at":{"type":"string"}},
"required":["context_id","language","busy","execution_count"]}},
"languages":{"type":"array","description":"Interpreters found in the image.","items":{"type":"object","properties":{
"language":{"type":"string"},"version":{"type":"string","description":"Known where a context of it lives."},"path":{"type":"string"}},
"required":["language"]}}},
"required":["contexts","languages"]})";

OrderedJson show(const Context& context) {
  const ContextStatus status = context.status.value_or(ContextStatus{.busy = true});
  const auto standard = default_language(context.record);
  OrderedJson entry;
  entry["context_id"] = context.record.id;
  if (!status.name.empty()) {
    entry["name"] = status.name;
  }
  entry["language"] = status.language;
  if (standard) {
    entry["language"] = language_name(*standard);
    entry["default"] = true;
  }
  entry["busy"] = status.busy;
  entry["execution_count"] = status.number;
  if (!context.status) {
    entry["answers"] = false;
  }
  if (status.pid > 0) {
    entry["pid"] = status.pid;
  }
  if (!status.folder.empty()) {
    entry["cwd"] = status.folder;
  }
  entry["created_at"] = started_text(context.record);
  if (context.status) {
    entry["last_used_at"] = timestamp_seconds((now_ms() - status.idle_ms) / 1000);
  }
  return entry;
}

std::string line_of(const OrderedJson& entry) {
  std::string line = entry["context_id"].get<std::string>() + "\t" +
                     one_line(entry["language"].get<std::string>()) + "\t" +
                     (entry["busy"].get<bool>() ? "busy" : "idle") + "\t" +
                     std::to_string(entry["execution_count"].get<std::uint64_t>()) + "\t";
  if (entry.contains("name")) {
    line += one_line(entry["name"].get<std::string>());
  } else {
    line += entry.contains("default") ? "(default)" : "-";
  }
  return line + "\n";
}

ToolResult code_context_list(const Arguments& /*arguments*/, CallContext& context) {
  const Box& box = context.box();
  const auto contexts = Contexts(context.box(), context).list();
  OrderedJson shown = OrderedJson::array();
  std::string text = "context_count: " + std::to_string(contexts.size()) +
                     "\n--- contexts (id, language, state, executions, name) ---\n";
  for (const Context& each : contexts) {
    shown.push_back(show(each));
    text += line_of(shown.back());
  }
  OrderedJson languages = OrderedJson::array();
  text += "--- languages ---\n";
  for (const Language language : kLanguages) {
    const std::string path = find_interpreter(language, box.environment);
    if (path.empty()) {
      continue;
    }
    OrderedJson entry;
    entry["language"] = language_name(language);
    entry["path"] = path;
    for (const Context& each : contexts) {
      if (each.status && each.status->language == language_name(language) &&
          !each.status->version.empty()) {
        entry["version"] = each.status->version;
      }
    }
    text += std::string(language_name(language)) + "\t" + one_line(path) + "\n";
    languages.push_back(std::move(entry));
  }
  OrderedJson data;
  data["contexts"] = std::move(shown);
  data["languages"] = std::move(languages);
  ToolResult result;
  result.texts.push_back(std::move(text));
  result.structured = std::move(data);
  return result;
}

}  // namespace

Tool code_context_list_tool() {
  Tool tool;
  tool.name = "code_context_list";
  tool.title = "List code contexts";
  tool.description = "List live code contexts of the box and the languages available.";
  tool.output_schema = kOutputSchema;
  tool.hints = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false};
  tool.handler = code_context_list;
  return tool;
}

}  // namespace agentbox::mcp
