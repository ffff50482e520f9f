// edge: tail_log: what a log says from some place on, and what it comes to say meanwhile.
#include <chrono>
#include <cmath>
#include <string>

#include "agentbox/ansi.h"
#include "agentbox/argument_words.h"
#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/follower.h"
#include "agentbox/reply_builder.h"
#include "agentbox/tools/tools.h"
#include "agentbox/visible.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

constexpr double kDefaultSeconds = 10;
constexpr double kMaxSeconds = 60;
constexpr std::int64_t kMaxBytes = 262'144;
constexpr std::size_t kMaxPatternBytes = 1000;

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"path":{"type":"string"},
"start_offset":{"type":"integer","description":"Where content begins."},
"end_offset":{"type":"integer","description":"The start_offset to go on with."},
"bytes_returned":{"type":"integer"},
"content":{"type":"string"},"encoding":{"type":"string","enum":["utf-8","base64"]},
"truncated":{"type":"boolean","description":"max_bytes were reached and there is more."},
"rotated":{"type":"boolean","description":"File was replaced or truncated while following; content then goes on at its beginning."},
"matched":{"type":"boolean","description":"A line matched until."},
"follow_seconds":{"type":"number"}},
"required":["path","start_offset","end_offset","bytes_returned","content","encoding","truncated","follow_seconds"]})";

ToolResult word(const std::string& shown, const Followed& followed, const Arguments& arguments) {
  const double seconds = arguments.number("follow_seconds");
  const std::string bytes =
      arguments.flag("strip_ansi") ? strip_ansi(followed.bytes) : followed.bytes;
  const bool is_text = is_utf8(bytes);
  ReplyBuilder reply;
  reply.both("path", shown);
  reply.both("start_offset", followed.start);
  reply.both("end_offset", followed.end);
  reply.both("bytes_returned", followed.bytes.size());
  reply.flag("truncated", followed.truncated);
  reply.number("follow_seconds", seconds);
  reply.quiet_flag("rotated", followed.rotated);
  if (arguments.has("until")) {
    reply.flag("matched", followed.matched);
  }
  const std::string content = is_text ? bytes : base64_encode(bytes);
  reply.data("content", content);
  reply.data("encoding", is_text ? "utf-8" : "base64");
  if (!is_text) {
    reply.line("encoding", "base64");
    return reply.finish("content", content);
  }
  const Visible visible = make_visible(bytes);
  if (visible.changed > 0) {
    reply.line("escaped_characters", std::to_string(visible.changed));
  }
  return reply.finish("content", visible.text);
}

Outcome<FollowRequest> make_request(const Arguments& arguments, CallContext& context) {
  FollowRequest request;
  if (arguments.has("start_offset")) {
    request.start = static_cast<std::uint64_t>(arguments.integer("start_offset"));
  }
  request.time = std::chrono::milliseconds(
      static_cast<std::int64_t>(std::ceil(arguments.number("follow_seconds") * 1000)));
  request.max_bytes = static_cast<std::size_t>(arguments.integer("max_bytes"));
  request.cancel_fd = context.cancel_fd();
  if (context.wants_progress()) {
    request.progress = [&context](std::uint64_t bytes, std::string_view line) {
      context.progress(static_cast<double>(bytes), line);
    };
  }
  if (arguments.has("until")) {
    auto pattern = Pattern::compile(arguments.text("until"));
    if (!pattern.ok()) {
      return ToolError{.code = "BAD_PATTERN",
                       .message = "until is no expression: " + pattern.error().what,
                       .hint = "It takes RE2's syntax: no back-references, no looking around"};
    }
    request.until = std::move(*pattern);
  }
  return request;
}

ToolResult tail_log(const Arguments& arguments, CallContext& context) {
  const Workspace& workspace = *context.box().workspace;
  auto path = workspace.parse(arguments.text("path"));
  if (!path.ok()) {
    return failed(std::move(path).error());
  }
  const std::string shown = workspace.show(*path);
  context.facts().path = shown;
  auto request = make_request(arguments, context);
  if (!request.ok()) {
    return failed(std::move(request).error());
  }
  auto followed = follow_file(workspace, *path, *request);
  if (!followed.ok()) {
    return failed(std::move(followed).error());
  }
  context.facts().bytes_out = followed->bytes.size();
  return word(shown, *followed, arguments);
}

}  // namespace

Tool tail_log_tool() {
  Tool tool;
  tool.name = "tail_log";
  tool.title = "Follow a file";
  tool.description =
      "Follow a log file: read from an offset on and wait a while for more. Returns end_offset "
      "to go on from; follow_seconds=0 does not wait. For output of process_start use "
      "process_output.";
  tool.arguments = {
      file_path_argument(),
      {.name = "start_offset",
       .type = ArgumentType::kInteger,
       .description = "Byte offset. Default: the file's end at call time.",
       .minimum = 0},
      {.name = "follow_seconds",
       .type = ArgumentType::kNumber,
       .description = "How long to watch.",
       .fallback = kDefaultSeconds,
       .minimum = 0,
       .maximum = kMaxSeconds},
      {.name = "max_bytes",
       .type = ArgumentType::kInteger,
       .description = "Stop after so many bytes.",
       .fallback = kMaxBytes,
       .minimum = 1,
       .maximum = kMaxBytes},
      {.name = "until",
       .description = "Stop early when a line matches this RE2 pattern.",
       .max_length = kMaxPatternBytes},
      {.name = "strip_ansi",
       .type = ArgumentType::kBoolean,
       .description = "Leave out terminal escape sequences.",
       .fallback = false},
  };
  tool.output_schema = kOutputSchema;
  tool.tier = Tier::kCore;
  tool.hints = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false};
  tool.handler = tail_log;
  return tool;
}

}  // namespace agentbox::mcp
