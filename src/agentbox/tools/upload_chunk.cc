// edge: upload_chunk: a file in pieces, over several sessions where it must be.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/reply_builder.h"
#include "agentbox/timestamps.h"
#include "agentbox/tools/tools.h"
#include "agentbox/uploads.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

constexpr std::size_t kMaxPieceBytes = 4UL << 20;
// The same in base64, with room.
constexpr std::size_t kMaxEncodedBytes = 6'291'456;
constexpr std::size_t kMaxIdBytes = 64;

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"upload_id":{"type":"string"},"path":{"type":"string"},
"received_bytes":{"type":"integer","description":"From the beginning, without a gap: the next offset."},
"total_size":{"type":"integer"},"complete":{"type":"boolean","description":"The file is in its place."},
"sha256":{"type":"string","pattern":"^[0-9a-f]{64}$","description":"Once complete."},
"expires_at":{"type":"string","description":"Dropped then, unless more arrives."},
"aborted":{"type":"boolean"}},
"required":["upload_id","path","received_bytes","complete","expires_at"]})";

ToolError wrong(std::string message, std::string hint) {
  return {.code = "INVALID_ARGUMENT", .message = std::move(message), .hint = std::move(hint)};
}

Outcome<std::string> decode_piece(const Arguments& arguments) {
  auto decoded = base64_decode(arguments.text("data"));
  if (!decoded.ok()) {
    return ToolError{
        .code = "INVALID_ENCODING",
        .message = "data is no base64: " + decoded.error().what + "; nothing was stored",
        .hint = "Use the standard alphabet with padding and without line breaks"};
  }
  if (decoded->size() > kMaxPieceBytes) {
    return ToolError{.code = "TOO_LARGE",
                     .message = "the piece has " + std::to_string(decoded->size()) +
                                " bytes; the limit is " + std::to_string(kMaxPieceBytes),
                     .hint = "Send smaller pieces"};
  }
  if (arguments.has("chunk_sha256") && sha256_hex(*decoded) != arguments.text("chunk_sha256")) {
    return ToolError{.code = "HASH_MISMATCH",
                     .message = "the piece that came has sha256 " + sha256_hex(*decoded) +
                                ", not the one in chunk_sha256; nothing was stored",
                     .hint = "Send it again"};
  }
  return std::move(*decoded);
}

UploadPiece piece_of(const Arguments& arguments, const std::string& data, CallContext& context) {
  UploadPiece piece{.data = data,
                    .cancelled = [&context] { return context.cancelled(); },
                    .cancel_fd = context.cancel_fd()};
  if (arguments.has("offset")) {
    piece.offset = static_cast<std::uint64_t>(arguments.integer("offset"));
  } else if (!arguments.has("upload_id")) {
    piece.offset = 0;
  }
  if (arguments.has("total_size")) {
    piece.total_size = static_cast<std::uint64_t>(arguments.integer("total_size"));
  }
  if (arguments.has("sha256")) {
    piece.sha256 = arguments.text("sha256");
  }
  return piece;
}

Outcome<UploadState> begin(const Arguments& arguments, const UploadPiece& piece,
                           CallContext& context) {
  const Box& box = context.box();
  if (!arguments.has("path")) {
    return wrong("neither path nor upload_id is given",
                 "Begin with path and total_size; go on with upload_id");
  }
  if (arguments.flag("abort")) {
    return wrong("abort needs upload_id", "Give the id of the first answer");
  }
  if (piece.offset.value_or(0) != 0) {
    return wrong("an upload begins at offset 0", "Go on with the upload_id of the first answer");
  }
  UploadStart start;
  AB_TRY(path, box.workspace->parse(arguments.text("path")));
  context.facts().path = box.workspace->show(path);
  start.path = std::move(path);
  if (arguments.has("mode")) {
    start.mode = static_cast<mode_t>(std::strtoul(arguments.text("mode").c_str(), nullptr, 8));
  }
  if (arguments.has("if_sha256")) {
    start.if_sha256 = arguments.text("if_sha256");
  }
  start.if_absent = arguments.flag("if_absent");
  return Uploads(*box.workspace, box.keep_folder).begin(start, piece);
}

Outcome<UploadState> go_on(const Arguments& arguments, const UploadPiece& piece,
                           CallContext& context) {
  const Box& box = context.box();
  for (const char* const name : {"path", "mode", "if_sha256", "if_absent"}) {
    if (arguments.has(name)) {
      return wrong(std::string(name) + " is for the first call, which has no upload_id",
                   "Leave it out");
    }
  }
  const Uploads uploads(*box.workspace, box.keep_folder);
  const std::string& id = arguments.text("upload_id");
  return arguments.flag("abort") ? uploads.abort(id, piece) : uploads.add(id, piece);
}

ToolResult reply(const UploadState& state, bool aborted) {
  ReplyBuilder reply;
  reply.both("upload_id", state.id);
  reply.both("path", state.path);
  reply.both("received_bytes", state.received);
  if (state.total_size) {
    reply.both("total_size", *state.total_size);
  }
  reply.flag("complete", state.complete);
  if (state.complete) {
    reply.both("sha256", state.sha256);
  }
  reply.both("expires_at", timestamp_seconds(state.expires_seconds));
  if (aborted) {
    reply.flag("aborted", true);
  }
  return reply.finish();
}

ToolResult upload_chunk(const Arguments& arguments, CallContext& context) {
  auto data = decode_piece(arguments);
  if (!data.ok()) {
    return failed(std::move(data).error());
  }
  const UploadPiece piece = piece_of(arguments, *data, context);
  auto state = arguments.has("upload_id") ? go_on(arguments, piece, context)
                                          : begin(arguments, piece, context);
  if (!state.ok()) {
    return failed(std::move(state).error());
  }
  context.facts().path = state->path;
  context.facts().bytes_in = data->size();
  return reply(*state, arguments.flag("abort") && !state->complete);
}

}  // namespace

Tool upload_chunk_tool() {
  Tool tool;
  tool.name = "upload_chunk";
  tool.title = "Upload part of a file";
  tool.description =
      "Upload a large or binary file in pieces of up to 4 MiB, to be resumed at will. Begin with "
      "path and total_size; repeat with upload_id and offset until complete. Any session goes on "
      "at received_bytes; sending a stored piece again is fine. The target appears only when "
      "everything has arrived and the hash matches.";
  tool.arguments = {
      {.name = "path",
       .description = "Target (first call).",
       .min_length = 1,
       .max_length = kMaxPathBytes},
      {.name = "upload_id", .description = "From the first answer.", .max_length = kMaxIdBytes},
      {.name = "offset",
       .type = ArgumentType::kInteger,
       .description = "Where this piece goes. First call: 0.",
       .minimum = 0},
      {.name = "data",
       .description = "base64. Without it: ask how far it got.",
       .max_length = kMaxEncodedBytes},
      {.name = "total_size",
       .type = ArgumentType::kInteger,
       .description = "Final size. First call, or the last where it is not known before.",
       .minimum = 0,
       .maximum = static_cast<double>(kMaxUploadBytes)},
      {.name = "sha256",
       .description = "Hash of the whole file (first call or last).",
       .shape = Shape::kSha256},
      {.name = "chunk_sha256", .description = "Hash of this piece.", .shape = Shape::kSha256},
      {.name = "mode",
       .description = "Octal bits (first call). Default: the old file's, else 0644.",
       .shape = Shape::kOctalMode},
      {.name = "if_sha256",
       .description = "Only over a file with this hash (first call).",
       .shape = Shape::kSha256},
      {.name = "if_absent",
       .type = ArgumentType::kBoolean,
       .description = "Only where there is no file (first call).",
       .fallback = false},
      {.name = "abort",
       .type = ArgumentType::kBoolean,
       .description = "Drop the upload.",
       .fallback = false},
  };
  tool.output_schema = kOutputSchema;
  tool.hints = {.read_only = false, .destructive = true, .idempotent = true, .open_world = false};
  tool.handler = upload_chunk;
  return tool;
}

}  // namespace agentbox::mcp
