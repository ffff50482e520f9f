// edge: set_permissions: mode, owner and group of a file or of all in a folder.
#include <charconv>
#include <optional>
#include <string>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/file_kind.h"
#include "agentbox/permissions.h"
#include "agentbox/reply_builder.h"
#include "agentbox/tools/tools.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

constexpr mode_t kSetIdBits = 06000;
constexpr std::size_t kMaxIdBytes = 64;

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"path":{"type":"string"},
"mode":{"type":"string","description":"The octal bits that path itself has now."},
"changed":{"type":"integer","description":"Names that were not so already."}},
"required":["path","mode","changed"]})";

ToolError wrong(std::string message, std::string hint) {
  return {.code = "INVALID_ARGUMENT", .message = std::move(message), .hint = std::move(hint)};
}

// Names of users are not asked for: what they mean depends on files that the
// box's code may write.
Outcome<std::optional<std::uint32_t>> read_id(const Arguments& arguments, const char* name) {
  if (!arguments.has(name)) {
    return std::optional<std::uint32_t>();
  }
  const auto number = parse_decimal(arguments.text(name));
  // The largest number stands for "leave it" in the kernel.
  if (!number.ok() || *number >= UINT32_MAX) {
    return wrong(std::string(name) + " is a number here, as `id` prints it", "Give the number");
  }
  return std::optional(static_cast<std::uint32_t>(*number));
}

Outcome<PermissionRequest> read_request(const Arguments& arguments) {
  PermissionRequest request{.recursive = arguments.flag("recursive")};
  AB_TRY(owner, read_id(arguments, "owner"));
  AB_TRY(group, read_id(arguments, "group"));
  request.owner = owner;
  request.group = group;
  if (arguments.has("mode")) {
    const std::string& text = arguments.text("mode");
    mode_t mode = 0;
    std::from_chars(text.data(), text.data() + text.size(), mode, 8);
    if ((mode & kSetIdBits) != 0) {
      return wrong("mode " + text + " has a set-id bit, which is not set here",
                   "Leave the first digit out");
    }
    request.mode = mode;
  }
  if (!request.mode && !request.owner && !request.group) {
    return wrong("there is nothing to change", "Give mode, owner or group");
  }
  return request;
}

Outcome<ToolResult> set(const Arguments& arguments, CallContext& context) {
  const Workspace& workspace = *context.box().workspace;
  AB_TRY(path, workspace.parse(arguments.text("path")));
  context.facts().path = workspace.show(path);
  AB_TRY(request, read_request(arguments));
  request.go_on = [&context](std::uint64_t names) {
    if (context.wants_progress()) {
      context.progress(static_cast<double>(names), std::to_string(names) + " names");
    }
    return !context.cancelled();
  };
  AB_TRY(outcome, set_permissions(workspace, path, request));
  ReplyBuilder reply;
  reply.both("path", workspace.show(path));
  reply.both("mode", octal_mode(outcome.mode));
  reply.both("changed", outcome.changed);
  return reply.finish();
}

ToolResult set_permissions(const Arguments& arguments, CallContext& context) {
  auto result = set(arguments, context);
  return result.ok() ? std::move(*result) : failed(std::move(result).error());
}

}  // namespace

Tool set_permissions_tool() {
  Tool tool;
  tool.name = "set_permissions";
  tool.title = "Change permissions";
  tool.description =
      "Set the mode of a file or directory, and its owner and "
      "group where the box is allowed to. "
      "With recursive all in the directory gets the mode, and "
      "directories stay enterable for "
      "whoever may read them. Links are never followed.";
  tool.arguments = {
      file_path_argument(),
      {.name = "mode", .description = "Octal bits, e.g. 0755.", .shape = Shape::kOctalMode},
      {.name = "recursive",
       .type = ArgumentType::kBoolean,
       .description = "All in the directory too.",
       .fallback = false},
      {.name = "owner", .description = "A uid.", .max_length = kMaxIdBytes},
      {.name = "group", .description = "A gid.", .max_length = kMaxIdBytes},
  };
  tool.output_schema = kOutputSchema;
  tool.hints = {.read_only = false, .destructive = false, .idempotent = true, .open_world = false};
  tool.tier = Tier::kFull;
  tool.handler = set_permissions;
  return tool;
}

}  // namespace agentbox::mcp
