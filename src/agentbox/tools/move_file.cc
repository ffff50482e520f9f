// edge: move_file: another name for a file or a folder.
#include <string>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/mover.h"
#include "agentbox/reply_builder.h"
#include "agentbox/tools/tools.h"

namespace agentbox::mcp {
namespace {

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"source":{"type":"string"},"destination":{"type":"string"},
"replaced":{"type":"boolean","description":"Something had that name before and is gone."}},
"required":["source","destination","replaced"]})";

ToolResult move_file(const Arguments& arguments, CallContext& context) {
  const Workspace& workspace = *context.box().workspace;
  auto source = workspace.parse(arguments.text("source"));
  if (!source.ok()) {
    return failed(std::move(source).error());
  }
  context.facts().path = workspace.show(*source);
  auto destination = workspace.parse(arguments.text("destination"));
  if (!destination.ok()) {
    return failed(std::move(destination).error());
  }
  MoveRequest request{.overwrite = arguments.flag("overwrite"),
                      .cancelled = [&context] { return context.cancelled(); }};
  if (arguments.has("if_sha256")) {
    request.if_sha256 = arguments.text("if_sha256");
  }
  auto outcome = move_name(workspace, *source, *destination, request);
  if (!outcome.ok()) {
    return failed(std::move(outcome).error());
  }
  ReplyBuilder reply;
  reply.both("source", workspace.show(*source));
  reply.both("destination", workspace.show(*destination));
  reply.quiet_flag("replaced", outcome->replaced);
  return reply.finish();
}

}  // namespace

Tool move_file_tool() {
  Tool tool;
  tool.name = "move_file";
  tool.title = "Move or rename";
  tool.description =
      "Move or rename a file or folder. Replaces an existing file unless overwrite is false; "
      "never merges folders. A link is moved itself, not what it leads to.";
  tool.arguments = {
      source_argument(),
      destination_argument(),
      {.name = "overwrite",
       .type = ArgumentType::kBoolean,
       .description = "Replace an existing destination file.",
       .fallback = true},
      {.name = "if_sha256",
       .description = "Precondition on the source file.",
       .shape = Shape::kSha256},
  };
  tool.output_schema = kOutputSchema;
  tool.tier = Tier::kCore;
  tool.hints = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false};
  tool.handler = move_file;
  return tool;
}

}  // namespace agentbox::mcp
