// edge: code_context_delete: ends a context, or only what runs in it.
#include <string>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/contexts.h"
#include "agentbox/reply_builder.h"
#include "agentbox/tools/code_tools.h"

namespace agentbox::mcp {
namespace {

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"context_id":{"type":"string"},
"deleted":{"type":"boolean","description":"Nothing of it runs any more."},
"interrupted":{"type":"boolean","description":"Something ran in it, and was interrupted."}},
"required":["context_id","deleted","interrupted"]})";

ToolResult code_context_delete(const Arguments& arguments, CallContext& context) {
  const Contexts contexts(context.box(), context);
  const auto record = contexts.find(arguments.text("context_id"));
  if (!record.ok()) {
    return failed(record.error());
  }
  const auto interrupted = contexts.interrupt(*record);
  const bool only_interrupt = arguments.flag("interrupt");
  if (only_interrupt && !interrupted.ok()) {
    return failed(interrupted.error());
  }
  bool deleted = false;
  if (!only_interrupt) {
    const auto ended = contexts.end(*record);
    if (!ended.ok()) {
      return failed(ended.error());
    }
    deleted = *ended;
  }
  ReplyBuilder out;
  out.both("context_id", record->id);
  out.flag("deleted", deleted);
  out.flag("interrupted", interrupted.ok() && *interrupted);
  return out.finish();
}

}  // namespace

Tool code_context_delete_tool() {
  Tool tool;
  tool.name = "code_context_delete";
  tool.title = "Delete a code context";
  tool.description =
      "End a code context and its processes, or with interrupt=true stop only what runs in it. "
      "The state is kept then, where the code reacts to SIGINT within 2 s.";
  tool.arguments = {
      {.name = "context_id",
       .description = "Context id or name.",
       .required = true,
       .min_length = 1,
       .max_length = 64},
      {.name = "interrupt",
       .type = ArgumentType::kBoolean,
       .description = "Interrupt what runs, and keep the context.",
       .fallback = false},
  };
  tool.output_schema = kOutputSchema;
  tool.hints = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false};
  tool.tier = Tier::kCore;  // else code that does not end would keep its context for ever
  tool.handler = code_context_delete;
  return tool;
}

}  // namespace agentbox::mcp
