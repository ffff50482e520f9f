// edge: read_media: a picture, a sound or another binary file as a block that clients show as such.
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/file_bytes.h"
#include "agentbox/image_size.h"
#include "agentbox/limits.h"
#include "agentbox/mime.h"
#include "agentbox/os_error.h"
#include "agentbox/reply_builder.h"
#include "agentbox/tools/tools.h"

namespace agentbox::mcp {
namespace {

using Kind = ContentBlock::Kind;

constexpr std::int64_t kDefaultBytes = 4L << 20;
constexpr std::int64_t kMaxBytes = 5L << 20;
// In base64 it fits into one reply.
static_assert(kMaxBytes / 3 * 4 + 64 * static_cast<std::int64_t>(kKiB) <
              static_cast<std::int64_t>(kMaxResultBytes));
// Text is for reading; more of it at once is what read_file has pages for.
constexpr std::size_t kMaxTextBytes = 30'000;

// What models look at. Any other picture, or one whose size or end cannot be told, in an image
// block makes their services refuse the whole conversation, so it goes as a resource.
constexpr std::array<std::string_view, 4> kShownImages{"image/gif", "image/jpeg", "image/png",
                                                       "image/webp"};

bool is_shown_image(std::string_view type) {
  return std::find(kShownImages.begin(), kShownImages.end(), type) != kShownImages.end();
}

ToolError too_large(const Opened& file, std::int64_t limit) {
  return {.code = "TOO_LARGE",
          .message = file.shown + " has " + std::to_string(file.info.st_size) +
                     " bytes; max_bytes is " + std::to_string(limit),
          .hint = "Raise max_bytes (at most " + std::to_string(kMaxBytes) +
                  "), make a smaller file of it, or use download_chunk",
          .path = file.shown};
}

// As large as the file was when it was opened.
Outcome<std::string> read_whole(const Opened& file, std::int64_t limit) {
  if (file.info.st_size > limit) {
    return too_large(file, limit);
  }
  auto bytes = read_at(file.fd.get(), 0, static_cast<std::size_t>(file.info.st_size));
  if (!bytes.ok()) {
    return os_error(file.shown, bytes.error());
  }
  return std::move(*bytes);
}

Outcome<ToolResult> text_reply(ReplyBuilder& reply, const Opened& file, const std::string& bytes) {
  if (bytes.size() > kMaxTextBytes) {
    return ToolError{.code = "TOO_LARGE",
                     .message = file.shown + " is text of " + std::to_string(bytes.size()) +
                                " bytes; up to " + std::to_string(kMaxTextBytes) +
                                " are returned here",
                     .hint = "Use read_file, which reads text in pieces",
                     .path = file.shown};
  }
  return reply.finish("content", bytes);
}

ContentBlock make_block(std::string bytes, std::string_view type, std::string uri,
                        ReplyBuilder& reply) {
  ContentBlock block{
      .kind = Kind::kResource, .bytes = {}, .mime_type = std::string(type), .uri = std::move(uri)};
  if (const auto size = image_size(bytes); size && is_shown_image(type) && is_whole_image(bytes)) {
    block.kind = Kind::kImage;
    reply.line("width", std::to_string(size->width));
    reply.line("height", std::to_string(size->height));
  } else if (type.starts_with("audio/")) {
    block.kind = Kind::kAudio;
  }
  block.bytes = std::move(bytes);
  return block;
}

Outcome<ToolResult> read(const Arguments& arguments, CallContext& context) {
  const Workspace& workspace = *context.box().workspace;
  AB_TRY(path, workspace.parse(arguments.text("path")));
  context.facts().path = workspace.show(path);
  AB_TRY(file, workspace.open_file(path));
  AB_TRY(bytes, read_whole(file, arguments.integer("max_bytes")));
  context.facts().bytes_out = bytes.size();
  std::string_view type = mime_type(path.relative, bytes);
  const bool is_text = is_text_type(type) && is_plain_text(bytes);
  if (is_text_type(type) && !is_text) {
    type = "application/octet-stream";
  }
  ReplyBuilder reply;
  reply.line("path", file.shown);
  reply.line("mime_type", type);
  reply.line("size", std::to_string(bytes.size()));
  if (is_text) {
    return text_reply(reply, file, bytes);
  }
  ContentBlock block = make_block(std::move(bytes), type, file_uri(path, workspace.names()), reply);
  ToolResult result = reply.finish();
  result.blocks.push_back(std::move(block));
  return result;
}

ToolResult read_media(const Arguments& arguments, CallContext& context) {
  auto result = read(arguments, context);
  return result.ok() ? std::move(*result) : failed(std::move(result).error());
}

}  // namespace

Tool read_media_tool() {
  Tool tool;
  tool.name = "read_media";
  tool.title = "Read an image, audio or other binary file";
  tool.description =
      "Look at an image (PNG, JPEG, GIF, WebP) or listen to an audio file; other binary files come "
      "as an embedded resource. SVG and other text comes as text.";
  tool.arguments = {
      file_path_argument(),
      {.name = "max_bytes",
       .type = ArgumentType::kInteger,
       .description = "Refuse larger files.",
       .fallback = kDefaultBytes,
       .minimum = 1,
       .maximum = static_cast<double>(kMaxBytes)},
  };
  tool.hints = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false};
  tool.handler = read_media;
  return tool;
}

}  // namespace agentbox::mcp
