// edge: code_context_create: a new interpreter for code_execute, which outlives the session.
#include <string>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/contexts.h"
#include "agentbox/process_words.h"
#include "agentbox/program_plan.h"
#include "agentbox/reply_builder.h"
#include "agentbox/tools/code_tools.h"

namespace agentbox::mcp {
namespace {

constexpr double kMinIdleSeconds = 60;
constexpr double kMaxIdleSeconds = 86'400;

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"context_id":{"type":"string","description":"Handle for code_execute."},
"name":{"type":"string"},
"language":{"type":"string"},
"version":{"type":"string","description":"Of the interpreter."},
"pid":{"type":"integer","description":"Of the interpreter."},
"cwd":{"type":"string"},
"created_at":{"type":"string","description":"RFC 3339."}},
"required":["context_id","language","pid","created_at"]})";

ToolError name_taken(const ToolError& error, const std::string& name) {
  ToolError taken{.code = "EEXIST",
                  .message = "a context named " + name + " lives already",
                  .hint = "Use it, choose another name, or end it with code_context_delete"};
  taken.details = error.details;
  return taken;
}

ToolResult code_context_create(const Arguments& arguments, CallContext& context) {
  ContextPlan plan{
      .language = find_language(arguments.text("language")).value_or(Language::kPython),
      .name = arguments.text("name"),
      .folder = arguments.has("cwd") ? arguments.text("cwd") : ".",
      .idle_seconds = arguments.integer("idle_timeout_seconds"),
      .variables = arguments.map("env")};
  if (is_job_id(plan.name)) {
    return tool_failure("INVALID_ARGUMENT", "name looks like the id of a context",
                        "Choose another name");
  }
  const auto created = Contexts(context.box(), context).create(plan);
  if (!created.ok()) {
    return failed(created.error().code == "EEXIST" ? name_taken(created.error(), plan.name)
                                                   : created.error());
  }
  const ContextStatus& status = *created->status;
  ReplyBuilder out;
  out.both("context_id", created->record.id);
  if (!plan.name.empty()) {
    out.both("name", plan.name);
  }
  out.both("language", arguments.text("language"));
  out.both("version", one_line(status.version));
  out.both("pid", status.pid);
  out.both("cwd", one_line(status.folder));
  out.both("created_at", started_text(created->record));
  return out.finish();
}

}  // namespace

Tool code_context_create_tool() {
  Tool tool;
  tool.name = "code_context_create";
  tool.title = "Create a code context";
  tool.description =
      "Start an interpreter of your own (python, node or bash) for code_execute, besides the "
      "default one of each language. Its state stays across reconnects. It ends with "
      "code_context_delete, or when it is unused for idle_timeout_seconds.";
  tool.arguments = {
      {.name = "language",
       .description = "What it runs.",
       .fallback = std::string_view("python"),
       .choices = {"python", "node", "bash"}},
      {.name = "name", .description = "A name to use in place of the id.", .shape = Shape::kName},
      folder_argument(),
      environment_argument(),
      {.name = "idle_timeout_seconds",
       .type = ArgumentType::kInteger,
       .description = "Ended after this long unused.",
       .fallback = kDefaultIdleSeconds,
       .minimum = kMinIdleSeconds,
       .maximum = kMaxIdleSeconds},
  };
  tool.output_schema = kOutputSchema;
  tool.hints = {.read_only = false, .destructive = true, .idempotent = false, .open_world = true};
  tool.handler = code_context_create;
  return tool;
}

}  // namespace agentbox::mcp
