// edge: read_file: a range of bytes or lines of a file, as text where it is text.
#include <cstdint>
#include <optional>
#include <string>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/file_reader.h"
#include "agentbox/file_text.h"
#include "agentbox/limits.h"
#include "agentbox/mime.h"
#include "agentbox/reply_builder.h"
#include "agentbox/timestamps.h"
#include "agentbox/tools/tools.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

constexpr std::int64_t kDefaultLimit = 131'072;
constexpr std::int64_t kMaxLimit = 524'288;
constexpr std::int64_t kMaxLines = 100'000;
constexpr std::int64_t kDefaultLines = 2000;
constexpr std::int64_t kMaxLineBytes = 1'000'000;
// Larger files are not hashed along with a read: it would take longer than the read itself is
// worth.
constexpr std::uint64_t kMaxHashedBytes = 256ULL << 20;

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"path":{"type":"string"},"size":{"type":"integer"},
"mode":{"type":"string","description":"bytes, head, tail or lines.","enum":["bytes","head","tail","lines"]},
"encoding":{"type":"string","enum":["utf-8","base64"]},"content":{"type":"string"},
"offset":{"type":"integer","description":"Of the first byte returned."},"bytes_returned":{"type":"integer"},
"next_offset":{"type":"integer","description":"Present when there is more."},
"start_line":{"type":"integer"},"lines_returned":{"type":"integer"},
"total_lines":{"type":"integer","description":"Present when the whole file was looked at."},
"truncated":{"type":"boolean"},"eof":{"type":"boolean"},
"lossy":{"type":"boolean","description":"Invalid UTF-8 was replaced (only with encoding=utf-8)."},
"sha256":{"type":"string","pattern":"^[0-9a-f]{64}$"},
"mtime":{"type":"string","description":"RFC 3339 UTC, ns."},
"mime_type":{"type":"string","description":"By content, else by name."}},
"required":["path","size","mode","encoding","content","bytes_returned","truncated","eof"]})";

enum class Mode { kBytes, kHead, kTail, kLines };

std::string_view mode_name(Mode mode) {
  switch (mode) {
    case Mode::kBytes:
      return "bytes";
    case Mode::kHead:
      return "head";
    case Mode::kTail:
      return "tail";
    case Mode::kLines:
      return "lines";
  }
  return "";
}

// One copy of the content as JSON text: with the other and the rest they fit one reply. Without
// dressing nothing can pass it: kMaxLimit bytes take six times as much at worst.
constexpr std::size_t kMaxContentBytes = kMaxResultBytes / 2 - 16 * kKiB;
static_assert(kMaxLimit * 6 < static_cast<std::int64_t>(kMaxContentBytes));

// The piece as text or base64, and how it got there.
struct Content {
  std::string text;
  bool is_base64 = false;
  bool lossy = false;
  bool lines_cut = false;
  std::optional<std::size_t> lines = {};  // set where only so many fit
};

Content make_content(const Arguments& arguments, const FilePiece& piece,
                     std::uint64_t first_number) {
  const std::string& encoding = arguments.text("encoding");
  const bool valid = is_utf8(piece.bytes);
  Content content;
  content.is_base64 = encoding == "base64" || (encoding == "auto" && !valid);
  if (content.is_base64) {
    content.text = base64_encode(piece.bytes);
    return content;
  }
  content.lossy = !valid;
  content.text = valid ? piece.bytes : replace_invalid_utf8(piece.bytes);
  const LineStyle style{.numbers = arguments.flag("line_numbers"),
                        .first_number = first_number,
                        .max_bytes = static_cast<std::size_t>(arguments.integer("max_line_chars")),
                        .max_encoded = kMaxContentBytes};
  if (style.numbers || style.max_bytes > 0) {
    Dressed dressed = dress_lines(content.text, style);
    if (dressed.lines < count_lines(content.text)) {
      content.lines = dressed.lines;
    }
    content.text = std::move(dressed.text);
    content.lines_cut = dressed.cut;
  }
  return content;
}

std::optional<std::uint64_t> first_line_number(Mode mode, const FilePiece& piece,
                                               const std::optional<FileScan>& scan) {
  if (piece.start_line) {
    return piece.start_line;
  }
  if (piece.offset == 0) {
    return 1;
  }
  const std::size_t lines = count_lines(piece.bytes);
  if (mode == Mode::kTail && scan && scan->lines >= lines) {
    return scan->lines - lines + 1;
  }
  return std::nullopt;
}

// Everything known about the answer.
struct Answer {
  Mode mode;
  const Opened& file;
  const FilePiece& piece;
  const std::optional<FileScan>& scan;
  const Content& content;
  std::string_view mime_type;
};

void add_place(ReplyBuilder& reply, const Answer& answer) {
  const std::size_t bytes = answer.piece.bytes.size();
  if (answer.mode == Mode::kBytes) {
    reply.both("offset", answer.piece.offset);
    reply.both("bytes_returned", bytes);
    return;
  }
  reply.line("mode", mode_name(answer.mode));
  reply.data("offset", answer.piece.offset);
  reply.data("bytes_returned", bytes);
  reply.both("lines_returned", count_lines(answer.piece.bytes));
}

void add_rest(ReplyBuilder& reply, const Answer& answer) {
  const std::uint64_t end = answer.piece.offset + answer.piece.bytes.size();
  const bool eof = end >= static_cast<std::uint64_t>(answer.file.info.st_size);
  const bool more_than_asked = answer.mode == Mode::kBytes ? !eof : answer.piece.cut_short;
  const bool truncated = more_than_asked || answer.content.lines_cut;
  reply.flag("truncated", truncated);
  reply.data("eof", eof);
  if (!eof) {
    reply.both("next_offset", end);
  }
  if (answer.piece.start_line) {
    reply.both("start_line", *answer.piece.start_line);
  }
  if (answer.scan && answer.mode == Mode::kBytes) {
    reply.data("total_lines", answer.scan->lines);
  } else if (answer.scan) {
    reply.both("total_lines", answer.scan->lines);
  }
  if (answer.content.lossy) {
    reply.data("lossy", true);
    reply.line("lossy", "true (bytes that are not UTF-8 were replaced)");
  }
  if (answer.content.is_base64) {
    reply.line("encoding", "base64");
  }
  if (answer.scan) {
    reply.both("sha256", answer.scan->sha256);
  }
  reply.data("mtime", timestamp(answer.file.info.st_mtim));
  reply.data("mime_type", answer.mime_type);
}

ToolResult word(const Answer& answer) {
  ReplyBuilder reply;
  reply.both("path", answer.file.shown);
  reply.both("size", static_cast<std::uint64_t>(answer.file.info.st_size));
  reply.data("mode", mode_name(answer.mode));
  reply.data("encoding", answer.content.is_base64 ? "base64" : "utf-8");
  reply.data("content", answer.content.text);
  add_place(reply, answer);
  add_rest(reply, answer);
  return reply.finish("content", answer.content.text);
}

Outcome<FilePiece> read_piece(const FileReader& reader, Mode mode, const Arguments& arguments) {
  const auto number = [&](std::string_view name) {
    return static_cast<std::uint64_t>(arguments.integer(name));
  };
  switch (mode) {
    case Mode::kHead:
      return reader.head(0, number("head"));
    case Mode::kTail:
      return reader.tail(number("tail"));
    case Mode::kLines:
      return reader.lines(number("start_line"), number("line_count"));
    case Mode::kBytes:
      break;
  }
  return reader.bytes(number("offset"), arguments.text("encoding") == "base64");
}

// The content, and where lines and numbers take more than one reply has room for, PIECE without the
// lines that did not fit: the first ones of a tail, else the last.
Content fit_content(const Arguments& arguments, Mode mode, FilePiece& piece,
                    std::uint64_t first_number) {
  Content content = make_content(arguments, piece, first_number);
  while (content.lines) {
    if (mode == Mode::kTail) {
      const std::string kept(last_lines(piece.bytes, *content.lines));
      first_number += count_lines(piece.bytes) - *content.lines;
      piece.offset += piece.bytes.size() - kept.size();
      piece.bytes = kept;
    } else {
      piece.bytes = std::string(first_lines(piece.bytes, *content.lines));
    }
    piece.cut_short = true;
    content = make_content(arguments, piece, first_number);
  }
  return content;
}

Outcome<ToolResult> read_opened(const Opened& file, Mode mode, const Arguments& arguments,
                                CallContext& context) {
  const FileReader reader(file, static_cast<std::size_t>(arguments.integer("limit")),
                          [&context] { return context.cancelled(); });
  AB_TRY(piece, read_piece(reader, mode, arguments));
  std::optional<FileScan> scan;
  if (arguments.flag("sha256") && reader.size() <= kMaxHashedBytes) {
    AB_TRY(scanned, reader.scan());
    scan = std::move(scanned);
  }
  const auto first_number = first_line_number(mode, piece, scan);
  if (arguments.flag("line_numbers") && !first_number) {
    return ToolError{.code = "INVALID_ARGUMENT",
                     .message = "it is not known which line this piece starts with",
                     .hint = "Use line_numbers with head or start_line, or with tail and sha256",
                     .path = file.shown};
  }
  const Content content = fit_content(arguments, mode, piece, first_number.value_or(1));
  context.facts().bytes_out = piece.bytes.size();
  AB_TRY(first_bytes, reader.first_bytes(kMimeBytes));
  const std::string_view type = mime_type(file.shown, first_bytes);
  return word({.mode = mode,
               .file = file,
               .piece = piece,
               .scan = scan,
               .content = content,
               .mime_type = type});
}

Outcome<Mode> choose_mode(const Arguments& arguments) {
  const bool head = arguments.has("head");
  const bool tail = arguments.has("tail");
  const bool lines = arguments.has("start_line") || arguments.has("line_count");
  if ((head ? 1 : 0) + (tail ? 1 : 0) + (lines ? 1 : 0) > 1) {
    return ToolError{.code = "INVALID_ARGUMENT",
                     .message = "head, tail and start_line exclude each other",
                     .hint = "Give one of them"};
  }
  if (lines && !arguments.has("start_line")) {
    return ToolError{.code = "INVALID_ARGUMENT",
                     .message = "line_count needs start_line",
                     .hint = "Give start_line too, or head for the first lines"};
  }
  return head ? Mode::kHead : tail ? Mode::kTail : lines ? Mode::kLines : Mode::kBytes;
}

ToolResult read_file(const Arguments& arguments, CallContext& context) {
  auto mode = choose_mode(arguments);
  if (!mode.ok()) {
    return failed(std::move(mode).error());
  }
  const Workspace& workspace = *context.box().workspace;
  auto path = workspace.parse(arguments.text("path"));
  if (!path.ok()) {
    return failed(std::move(path).error());
  }
  context.facts().path = workspace.show(*path);
  auto file = workspace.open_file(*path);
  if (!file.ok()) {
    return failed(std::move(file).error());
  }
  auto result = read_opened(*file, *mode, arguments, context);
  return result.ok() ? std::move(*result) : failed(std::move(result).error());
}

}  // namespace

Tool read_file_tool() {
  Tool tool;
  tool.name = "read_file";
  tool.title = "Read a file";
  tool.description =
      "Read a file: all of it, lines (start_line, head, tail) or bytes (offset, limit). Text as "
      "it is, binary as base64, with the sha256 that if_sha256 of the writing tools takes. Also "
      "reads the output files that shell_exec names as output_path.";
  tool.arguments = {
      file_path_argument(),
      {.name = "offset",
       .type = ArgumentType::kInteger,
       .description = "Byte offset. Ignored with head, tail or start_line.",
       .fallback = std::int64_t{0},
       .minimum = 0},
      {.name = "limit",
       .type = ArgumentType::kInteger,
       .description = "Most bytes to return.",
       .fallback = kDefaultLimit,
       .minimum = 1,
       .maximum = kMaxLimit},
      {.name = "head",
       .type = ArgumentType::kInteger,
       .description = "First N lines.",
       .minimum = 1,
       .maximum = kMaxLines},
      {.name = "tail",
       .type = ArgumentType::kInteger,
       .description = "Last N lines.",
       .minimum = 1,
       .maximum = kMaxLines},
      {.name = "start_line",
       .type = ArgumentType::kInteger,
       .description = "First line to return, from 1.",
       .minimum = 1},
      {.name = "line_count",
       .type = ArgumentType::kInteger,
       .description = "How many lines from start_line.",
       .fallback = kDefaultLines,
       .minimum = 1,
       .maximum = kMaxLines},
      {.name = "line_numbers",
       .type = ArgumentType::kBoolean,
       .description = "Prefix each line with its number and a tab (text output only).",
       .fallback = false},
      {.name = "encoding",
       .description = "auto: text if valid UTF-8, else base64.",
       .fallback = std::string_view("auto"),
       .choices = {"auto", "utf-8", "base64"}},
      {.name = "max_line_chars",
       .type = ArgumentType::kInteger,
       .description = "Cut longer lines, counted in bytes (0 = never).",
       .fallback = std::int64_t{0},
       .minimum = 0,
       .maximum = kMaxLineBytes},
      {.name = "sha256",
       .type = ArgumentType::kBoolean,
       .description = "Also hash the whole file, for if_sha256 later.",
       .fallback = true},
  };
  tool.output_schema = kOutputSchema;
  tool.tier = Tier::kCore;
  tool.hints = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false};
  tool.meta = R"({"anthropic/alwaysLoad":true,"anthropic/maxResultSizeChars":500000})";
  tool.handler = read_file;
  return tool;
}

}  // namespace agentbox::mcp
