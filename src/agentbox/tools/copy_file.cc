// edge: copy_file: a second file, link or folder like the first.
#include <string>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/copier.h"
#include "agentbox/reply_builder.h"
#include "agentbox/tools/tools.h"

namespace agentbox::mcp {
namespace {

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"source":{"type":"string"},"destination":{"type":"string"},
"files_copied":{"type":"integer","description":"Names made that are no folders."},
"bytes_copied":{"type":"integer","description":"Sizes of the regular files among them."},
"replaced":{"type":"boolean","description":"Something had that name before and is gone."}},
"required":["source","destination","files_copied","bytes_copied","replaced"]})";

Outcome<ToolResult> copy(const Arguments& arguments, CallContext& context) {
  const Workspace& workspace = *context.box().workspace;
  AB_TRY(source, workspace.parse(arguments.text("source")));
  context.facts().path = workspace.show(source);
  AB_TRY(destination, workspace.parse(arguments.text("destination")));
  CopyRequest request{.recursive = arguments.flag("recursive"),
                      .overwrite = arguments.flag("overwrite")};
  request.go_on = [&context](const CopyTally& done) {
    if (context.wants_progress()) {
      context.progress(
          static_cast<double>(done.files + done.bytes),
          std::to_string(done.files) + " files, " + std::to_string(done.bytes) + " bytes");
    }
    return !context.cancelled();
  };
  AB_TRY(outcome, copy_name(workspace, source, destination, request));
  context.facts().bytes_in = outcome.tally.bytes;
  ReplyBuilder reply;
  reply.both("source", workspace.show(source));
  reply.both("destination", workspace.show(destination));
  reply.both("files_copied", outcome.tally.files);
  reply.both("bytes_copied", outcome.tally.bytes);
  reply.quiet_flag("replaced", outcome.replaced);
  return reply.finish();
}

ToolResult copy_file(const Arguments& arguments, CallContext& context) {
  auto result = copy(arguments, context);
  return result.ok() ? std::move(*result) : failed(std::move(result).error());
}

}  // namespace

Tool copy_file_tool() {
  Tool tool;
  tool.name = "copy_file";
  tool.title = "Copy";
  tool.description =
      "Copy a file, a link or (with recursive) a whole directory. Modes and "
      "links are kept; the new "
      "name has all of it or does not exist. Directories are never merged.";
  tool.arguments = {
      source_argument(),
      destination_argument(),
      {.name = "recursive",
       .type = ArgumentType::kBoolean,
       .description = "Copy directories.",
       .fallback = false},
      {.name = "overwrite",
       .type = ArgumentType::kBoolean,
       .description = "Replace an existing file or empty directory.",
       .fallback = false},
  };
  tool.output_schema = kOutputSchema;
  tool.hints = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false};
  tool.handler = copy_file;
  tool.may_be_task = true;
  return tool;
}

}  // namespace agentbox::mcp
