// edge: delete_file: a file, a link, or on request a whole folder.
#include <string>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/file_kind.h"
#include "agentbox/remover.h"
#include "agentbox/reply_builder.h"
#include "agentbox/tools/tools.h"

namespace agentbox::mcp {
namespace {

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"path":{"type":"string"},
"deleted":{"type":"boolean","description":"False: it did not exist, and missing_ok was set."},
"type":{"type":"string","enum":["file","directory","symlink","fifo","socket","block","char","unknown"]},
"bytes_deleted":{"type":"integer","description":"Sizes of the regular files that are gone."},
"files_deleted":{"type":"integer","description":"Names gone that were no folders."}},
"required":["path","deleted","bytes_deleted"]})";

ToolResult reply_missing(const std::string& shown) {
  ReplyBuilder reply;
  reply.both("path", shown);
  reply.both("bytes_deleted", 0U);
  reply.flag("deleted", false);
  return reply.finish();
}

ToolResult delete_file(const Arguments& arguments, CallContext& context) {
  const Workspace& workspace = *context.box().workspace;
  auto path = workspace.parse(arguments.text("path"));
  if (!path.ok()) {
    return failed(std::move(path).error());
  }
  const std::string shown = workspace.show(*path);
  context.facts().path = shown;
  RemoveRequest request{.recursive = arguments.flag("recursive"),
                        .cancelled = [&context] { return context.cancelled(); }};
  if (arguments.has("if_sha256")) {
    request.if_sha256 = arguments.text("if_sha256");
  }
  auto outcome = remove_name(workspace, *path, request);
  if (!outcome.ok()) {
    const bool missing = outcome.error().code == "ENOENT" && arguments.flag("missing_ok");
    return missing ? reply_missing(shown) : failed(std::move(outcome).error());
  }
  ReplyBuilder reply;
  reply.both("path", shown);
  reply.both("bytes_deleted", outcome->bytes);
  reply.data("deleted", true);
  reply.data("type", kind_of_file(outcome->mode).name);
  reply.data("files_deleted", outcome->files);
  if (kind_of_file(outcome->mode).letter != 'f') {
    reply.line("type", kind_of_file(outcome->mode).name);
    reply.line("files_deleted", std::to_string(outcome->files));
  }
  return reply.finish();
}

}  // namespace

Tool delete_file_tool() {
  Tool tool;
  tool.name = "delete_file";
  tool.title = "Delete";
  tool.description =
      "Delete a file, a link (never its target), an empty folder or, with recursive, a folder and "
      "all in it. What is mounted in one stays.";
  tool.arguments = {
      file_path_argument(),
      {.name = "recursive",
       .type = ArgumentType::kBoolean,
       .description = "Delete a directory and all in it.",
       .fallback = false},
      {.name = "if_sha256", .description = "Precondition on the file.", .shape = Shape::kSha256},
      {.name = "missing_ok",
       .type = ArgumentType::kBoolean,
       .description = "Absent is success.",
       .fallback = false},
  };
  tool.output_schema = kOutputSchema;
  tool.tier = Tier::kCore;
  tool.hints = {.read_only = false, .destructive = true, .idempotent = true, .open_world = false};
  tool.handler = delete_file;
  return tool;
}

}  // namespace agentbox::mcp
