// edge: write_file: creates, replaces or appends to a file, all or nothing.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/file_kind.h"
#include "agentbox/file_writer.h"
#include "agentbox/tools/tools.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

constexpr std::size_t kMaxContentBytes = 4UL << 20;
// The same in base64, and text of several bytes a character, with room.
constexpr std::size_t kMaxEncodedBytes = 6'291'456;

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"path":{"type":"string"},"bytes_written":{"type":"integer"},"size":{"type":"integer"},
"mode":{"type":"string","description":"Octal permission bits."},
"sha256":{"type":"string","pattern":"^[0-9a-f]{64}$","description":"Of the whole file."},
"created":{"type":"boolean"},
"previous_sha256":{"type":"string","pattern":"^[0-9a-f]{64}$"},
"in_place":{"type":"boolean","description":"Written into the old inode: it has several names, its folder takes no new file, or something was appended."}},
"required":["path","bytes_written","size","mode","sha256","created"]})";

Outcome<std::string> decode_content(const Arguments& arguments) {
  const std::string& content = arguments.text("content");
  std::string bytes;
  if (arguments.text("encoding") == "base64") {
    auto decoded = base64_decode(content);
    if (!decoded.ok()) {
      return ToolError{
          .code = "INVALID_ENCODING",
          .message = "content is no base64: " + decoded.error().what + "; nothing was written",
          .hint = "Use the standard alphabet with padding and without line breaks"};
    }
    bytes = std::move(*decoded);
  } else {
    bytes = content;
  }
  if (bytes.size() > kMaxContentBytes) {
    return ToolError{.code = "TOO_LARGE",
                     .message = "content has " + std::to_string(bytes.size()) +
                                " bytes; the limit is " + std::to_string(kMaxContentBytes),
                     .hint = "Write the first part, then the others with append"};
  }
  return bytes;
}

ToolResult reply(const std::string& shown, std::size_t written, const WriteOutcome& outcome) {
  OrderedJson json;
  json["path"] = shown;
  json["bytes_written"] = written;
  json["size"] = outcome.size;
  json["mode"] = octal_mode(outcome.mode);
  json["sha256"] = outcome.sha256;
  json["created"] = outcome.created;
  const bool appended = outcome.size != written;
  std::string text = "path: " + shown + "\nbytes_written: " + std::to_string(written) +
                     "\nmode: " + octal_mode(outcome.mode) +
                     (appended ? "\nsize: " + std::to_string(outcome.size) : "") +
                     "\nsha256: " + outcome.sha256 +
                     "\ncreated: " + (outcome.created ? "true" : "false") + "\n";
  if (!outcome.previous_sha256.empty()) {
    json["previous_sha256"] = outcome.previous_sha256;
    text += "previous_sha256: " + outcome.previous_sha256 + "\n";
  }
  if (outcome.in_place) {
    json["in_place"] = true;
    text += "in_place: true\n";
  }
  return {.texts = {std::move(text)}, .structured = std::move(json), .error = {}};
}

ToolResult write_file_handler(const Arguments& arguments, CallContext& context) {
  const Box& box = context.box();
  auto path = box.workspace->parse(arguments.text("path"));
  if (!path.ok()) {
    return failed(std::move(path).error());
  }
  const std::string shown = box.workspace->show(*path);
  context.facts().path = shown;
  auto content = decode_content(arguments);
  if (!content.ok()) {
    return failed(std::move(content).error());
  }
  WriteRequest request;
  request.data = *content;
  if (arguments.has("mode")) {
    request.mode = static_cast<mode_t>(std::strtoul(arguments.text("mode").c_str(), nullptr, 8));
  }
  if (arguments.has("if_sha256")) {
    request.if_sha256 = arguments.text("if_sha256");
  }
  request.keep_mode = arguments.flag("keep_mode");
  request.append = arguments.flag("append");
  request.if_absent = arguments.flag("if_absent");
  request.make_folders = arguments.flag("create_dirs");
  request.sync = arguments.flag("fsync");
  request.cancelled = [&context] { return context.cancelled(); };
  auto outcome = write_file(*box.workspace, *path, request, box.keep_folder);
  if (!outcome.ok()) {
    return failed(std::move(outcome).error());
  }
  context.facts().bytes_in = content->size();
  return reply(shown, content->size(), *outcome);
}

}  // namespace

Tool write_file_tool() {
  Tool tool;
  tool.name = "write_file";
  tool.title = "Write a file";
  tool.description =
      "Create a file or replace all of it, atomically. To change a part of one use edit_file. "
      "if_sha256 overwrites only what you have read, if_absent nothing at all. Up to 4 MiB a "
      "call; more with append.";
  tool.arguments = {
      file_path_argument(),
      {.name = "content",
       .description = "New content.",
       .required = true,
       .max_length = kMaxEncodedBytes},
      {.name = "encoding",
       .description = "How the bytes are encoded in this message.",
       .fallback = std::string_view("utf-8"),
       .choices = {"utf-8", "base64"}},
      {.name = "mode",
       .description = "Octal permission bits for the file. Default: those of the file replaced, "
                      "else 0644 less the umask.",
       .shape = Shape::kOctalMode},
      {.name = "append",
       .type = ArgumentType::kBoolean,
       .description = "Append instead of replacing.",
       .fallback = false},
      {.name = "if_sha256",
       .description = "Only if the current content has this hash.",
       .shape = Shape::kSha256},
      {.name = "if_absent",
       .type = ArgumentType::kBoolean,
       .description = "Fail if it exists.",
       .fallback = false},
      {.name = "create_dirs",
       .type = ArgumentType::kBoolean,
       .description = "Create missing parent directories.",
       .fallback = true},
      {.name = "keep_mode",
       .type = ArgumentType::kBoolean,
       .description = "When replacing, keep the existing permission bits unless mode is given.",
       .fallback = true},
      {.name = "fsync",
       .type = ArgumentType::kBoolean,
       .description = "Flush to disk before answering.",
       .fallback = true},
  };
  tool.output_schema = kOutputSchema;
  tool.tier = Tier::kCore;
  tool.hints = {.read_only = false, .destructive = true, .idempotent = true, .open_world = false};
  tool.meta = R"({"anthropic/alwaysLoad":true})";
  tool.handler = write_file_handler;
  return tool;
}

}  // namespace agentbox::mcp
