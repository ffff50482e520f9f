// edge: create_directory: a folder and those above it.
#include <cstdlib>
#include <string>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/reply_builder.h"
#include "agentbox/tools/tools.h"

namespace agentbox::mcp {
namespace {

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"path":{"type":"string"},
"created":{"type":"boolean","description":"False: it was there already, and stays as it is."}},
"required":["path","created"]})";

ToolResult create_directory(const Arguments& arguments, CallContext& context) {
  const Workspace& workspace = *context.box().workspace;
  auto path = workspace.parse(arguments.text("path"));
  if (!path.ok()) {
    return failed(std::move(path).error());
  }
  context.facts().path = workspace.show(*path);
  const auto mode = static_cast<mode_t>(std::strtoul(arguments.text("mode").c_str(), nullptr, 8));
  auto created = workspace.create_folder(*path, mode, arguments.has("mode"));
  if (!created.ok()) {
    return failed(std::move(created).error());
  }
  ReplyBuilder reply;
  reply.both("path", workspace.show(*path));
  reply.flag("created", *created);
  return reply.finish();
}

}  // namespace

Tool create_directory_tool() {
  Tool tool;
  tool.name = "create_directory";
  tool.title = "Create a directory";
  tool.description = "Create a directory with its parents. Succeeds if it already exists.";
  tool.arguments = {
      {.name = "path",
       .description = "Directory.",
       .required = true,
       .min_length = 1,
       .max_length = kMaxPathBytes},
      {.name = "mode",
       .description = "Octal bits of a new directory; given, they hold whatever the umask says.",
       .fallback = std::string_view("0755"),
       .shape = Shape::kOctalMode},
  };
  tool.output_schema = kOutputSchema;
  tool.tier = Tier::kCore;
  tool.hints = {.read_only = false, .destructive = false, .idempotent = true, .open_world = false};
  tool.handler = create_directory;
  return tool;
}

}  // namespace agentbox::mcp
