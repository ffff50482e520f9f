// edge: download_chunk: a piece of a file with its hash, and whether the file is still the same.
#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/file_bytes.h"
#include "agentbox/leaf_file.h"
#include "agentbox/os_error.h"
#include "agentbox/reply_builder.h"
#include "agentbox/tools/tools.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

constexpr std::int64_t kDefaultBytes = 1L << 20;
// In base64 and in both copies it fits into one reply.
constexpr std::int64_t kMaxBytes = 2L << 20;
constexpr std::size_t kMaxEtagBytes = 128;

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"path":{"type":"string"},"size":{"type":"integer","description":"Of the whole file."},
"offset":{"type":"integer"},"length":{"type":"integer","description":"Bytes in data."},
"data":{"type":"string","description":"base64"},
"chunk_sha256":{"type":"string","pattern":"^[0-9a-f]{64}$"},
"sha256":{"type":"string","pattern":"^[0-9a-f]{64}$","description":"Of the whole file, where it was asked for."},
"etag":{"type":"string","description":"Another where the file was changed or replaced."},
"eof":{"type":"boolean"}},
"required":["path","size","offset","length","data","chunk_sha256","etag","eof"]})";

// What changes with every change of a file that its clock can tell.
std::string etag_of(const struct stat& info) {
  const auto nanoseconds = [](const timespec& time) {
    return std::to_string(time.tv_sec) + "." + std::to_string(time.tv_nsec);
  };
  return std::to_string(info.st_dev) + "-" + std::to_string(info.st_ino) + "-" +
         std::to_string(info.st_size) + "-" + nanoseconds(info.st_mtim) + "-" +
         nanoseconds(info.st_ctim);
}

ToolError changed(const std::string& shown, const std::string& etag) {
  ToolError error{.code = "PRECONDITION_FAILED",
                  .message = shown + " has etag " + etag + " now: it was changed or replaced",
                  .hint = "Begin the download again",
                  .path = shown};
  error.details["etag"] = etag;
  return error;
}

struct Piece {
  std::string bytes;
  std::string sha256;  // of the whole, where it was asked for
  std::string etag;
};

Outcome<Piece> read_piece(const Opened& file, const Arguments& arguments, CallContext& context) {
  const auto offset = static_cast<std::uint64_t>(arguments.integer("offset"));
  const auto size = static_cast<std::uint64_t>(file.info.st_size);
  Piece piece{.bytes = {}, .sha256 = {}, .etag = etag_of(file.info)};
  if (arguments.has("if_etag") && arguments.text("if_etag") != piece.etag) {
    return changed(file.shown, piece.etag);
  }
  if (offset > size) {
    return ToolError{.code = "RANGE",
                     .message = "offset " + std::to_string(offset) + " is beyond the end of " +
                                file.shown + ", which has " + std::to_string(size) + " bytes",
                     .hint = "Begin the download again where the file became shorter",
                     .path = file.shown};
  }
  const bool conditional = arguments.has("if_sha256");
  if (conditional || arguments.flag("file_sha256")) {
    auto hash = hash_file(file.fd.get(), UINT64_MAX, [&context] { return context.cancelled(); });
    if (!hash.ok()) {
      return os_error(file.shown, hash.error());
    }
    if (conditional && *hash != arguments.text("if_sha256")) {
      return wrong_sha256(file.shown, *hash, "nothing was read");
    }
    piece.sha256 = std::move(*hash);
  }
  auto bytes =
      read_at(file.fd.get(), offset, static_cast<std::size_t>(arguments.integer("length")));
  if (!bytes.ok()) {
    return os_error(file.shown, bytes.error());
  }
  piece.bytes = std::move(*bytes);
  struct stat now {};
  if (::fstat(file.fd.get(), &now) != 0 || etag_of(now) != piece.etag) {
    return ToolError{.code = "CONFLICT",
                     .message = file.shown + " was changed while it was read",
                     .hint = "Begin the download again when nobody writes it",
                     .path = file.shown};
  }
  return piece;
}

ToolResult download_chunk(const Arguments& arguments, CallContext& context) {
  const Workspace& workspace = *context.box().workspace;
  auto path = workspace.parse(arguments.text("path"));
  if (!path.ok()) {
    return failed(std::move(path).error());
  }
  context.facts().path = workspace.show(*path);
  const auto file = workspace.open_file(*path);
  if (!file.ok()) {
    return failed(file.error());
  }
  auto piece = read_piece(*file, arguments, context);
  if (!piece.ok()) {
    return failed(std::move(piece).error());
  }
  context.facts().bytes_out = piece->bytes.size();
  const auto offset = static_cast<std::uint64_t>(arguments.integer("offset"));
  const auto size = static_cast<std::uint64_t>(file->info.st_size);
  ReplyBuilder reply;
  reply.both("path", file->shown);
  reply.both("size", size);
  reply.both("offset", offset);
  reply.both("length", piece->bytes.size());
  reply.both("chunk_sha256", sha256_hex(piece->bytes));
  if (!piece->sha256.empty()) {
    reply.both("sha256", piece->sha256);
  }
  reply.both("etag", piece->etag);
  reply.flag("eof", offset + piece->bytes.size() >= size);
  const std::string data = base64_encode(piece->bytes);
  reply.data("data", data);
  return reply.finish("data", data);
}

}  // namespace

Tool download_chunk_tool() {
  Tool tool;
  tool.name = "download_chunk";
  tool.title = "Download part of a file";
  tool.description =
      "Download a byte range of a file as base64 with its hash, to be resumed at will. Give the "
      "first answer's etag as if_etag with the following calls, so that a change in between is "
      "noticed. Up to 2 MiB a call.";
  tool.arguments = {
      file_path_argument(),
      {.name = "offset", .type = ArgumentType::kInteger, .fallback = std::int64_t{0}, .minimum = 0},
      {.name = "length",
       .type = ArgumentType::kInteger,
       .description = "Most bytes.",
       .fallback = kDefaultBytes,
       .minimum = 1,
       .maximum = static_cast<double>(kMaxBytes)},
      {.name = "if_etag",
       .description = "Fail if the file is no longer this one. Costs nothing.",
       .max_length = kMaxEtagBytes},
      {.name = "if_sha256",
       .description = "Fail if the file's content is no longer this. Reads all of it.",
       .shape = Shape::kSha256},
      {.name = "file_sha256",
       .type = ArgumentType::kBoolean,
       .description = "Hash the whole file too.",
       .fallback = false},
  };
  tool.output_schema = kOutputSchema;
  tool.hints = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false};
  tool.handler = download_chunk;
  return tool;
}

}  // namespace agentbox::mcp
