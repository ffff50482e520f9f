// edge: read_file: a range of bytes or lines of a file, as text where it is text.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/capture.h"
#include "agentbox/file_bytes.h"
#include "agentbox/file_text.h"
#include "agentbox/os_error.h"
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
constexpr std::size_t kScanBytes = 256 * 1024;
// A character has at most four bytes: so much more is read to end on a whole one.
constexpr std::size_t kCharacterSlack = 3;

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
"mtime":{"type":"string","description":"RFC 3339 UTC, ns."}},
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

// What was read and where it lies in the file.
struct Piece {
  std::string bytes;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> start_line = {};
  bool cut_short = false;  // fewer lines than asked for, because of the byte limit
};

// Goes through the file once, for its hash and its number of lines.
struct Scan {
  std::string sha256;
  std::uint64_t lines = 0;
};

class Reader {
 public:
  Reader(const Arguments& arguments, CallContext& context, const Opened& file)
      : arguments_(arguments),
        context_(context),
        file_(file),
        limit_(static_cast<std::size_t>(arguments.integer("limit"))) {}

  Outcome<ToolResult> read(Mode mode);

 private:
  [[nodiscard]] Outcome<Piece> read_piece(Mode mode);
  [[nodiscard]] Outcome<Piece> read_bytes();
  [[nodiscard]] Outcome<Piece> read_head(std::uint64_t at, std::size_t lines);
  [[nodiscard]] Outcome<Piece> read_tail(std::size_t lines);
  [[nodiscard]] Outcome<Piece> read_lines();
  [[nodiscard]] Outcome<std::string> bytes_at(std::uint64_t at, std::size_t size);
  [[nodiscard]] Outcome<Scan> scan();
  [[nodiscard]] std::uint64_t size() const {
    return static_cast<std::uint64_t>(file_.info.st_size);
  }
  [[nodiscard]] Outcome<ToolResult> reply(Mode mode, const Piece& piece,
                                          const std::optional<Scan>& scan);

  const Arguments& arguments_;
  CallContext& context_;
  const Opened& file_;
  std::size_t limit_;
};

ToolError cancelled() { return {.code = "CANCELLED", .message = "the call was cancelled"}; }

Outcome<std::string> Reader::bytes_at(std::uint64_t at, std::size_t size) {
  auto bytes = read_at(file_.fd.get(), at, size);
  if (!bytes.ok()) {
    return os_error(file_.shown, bytes.error());
  }
  return std::move(*bytes);
}

Outcome<Piece> Reader::read_bytes() {
  const auto offset = static_cast<std::uint64_t>(arguments_.integer("offset"));
  AB_TRY(bytes, bytes_at(offset, limit_ + kCharacterSlack));
  const bool at_end = bytes.size() < limit_ + kCharacterSlack;
  if (arguments_.text("encoding") == "base64") {
    bytes.resize(std::min(bytes.size(), limit_));
    return Piece{.bytes = std::move(bytes), .offset = offset};
  }
  const Trimmed trimmed = trim_to_characters(bytes, limit_, offset == 0, at_end);
  return Piece{.bytes = std::string(trimmed.bytes), .offset = offset + trimmed.start};
}

Outcome<Piece> Reader::read_head(std::uint64_t at, std::size_t lines) {
  AB_TRY(bytes, bytes_at(at, limit_ + 1));
  const std::string_view wanted = first_lines(std::string_view(bytes), lines);
  Piece piece{.bytes = std::string(wanted.substr(0, limit_)), .offset = at};
  piece.cut_short = wanted.size() > limit_;
  if (piece.cut_short) {
    piece.bytes.resize(piece.bytes.size() - incomplete_suffix(piece.bytes));
  }
  return piece;
}

Outcome<Piece> Reader::read_tail(std::size_t lines) {
  const std::uint64_t from = size() > limit_ ? size() - limit_ : 0;
  AB_TRY(bytes, bytes_at(from, limit_));
  const std::string_view wanted = last_lines(bytes, lines);
  Piece piece{.bytes = std::string(wanted), .offset = from + (bytes.size() - wanted.size())};
  piece.cut_short = from > 0 && wanted.size() == bytes.size();
  if (piece.cut_short) {
    const std::size_t stump = continuation_prefix(piece.bytes);
    piece.bytes.erase(0, stump);
    piece.offset += stump;
  }
  return piece;
}

Outcome<Piece> Reader::read_lines() {
  const auto start = static_cast<std::uint64_t>(arguments_.integer("start_line"));
  const auto count = static_cast<std::size_t>(arguments_.integer("line_count"));
  std::uint64_t at = 0;
  for (std::uint64_t skip = start - 1; skip > 0;) {
    if (context_.cancelled()) {
      return cancelled();
    }
    AB_TRY(bytes, bytes_at(at, kScanBytes));
    if (bytes.empty()) {
      break;
    }
    const auto newlines = static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end(), '\n'));
    if (newlines < skip) {
      skip -= newlines;
      at += bytes.size();
    } else {
      at += first_lines(bytes, static_cast<std::size_t>(skip)).size();
      skip = 0;
    }
  }
  AB_TRY(piece, read_head(at, count));
  piece.start_line = start;
  return piece;
}

Outcome<Piece> Reader::read_piece(Mode mode) {
  switch (mode) {
    case Mode::kBytes:
      return read_bytes();
    case Mode::kHead:
      return read_head(0, static_cast<std::size_t>(arguments_.integer("head")));
    case Mode::kTail:
      return read_tail(static_cast<std::size_t>(arguments_.integer("tail")));
    case Mode::kLines:
      return read_lines();
  }
  return cancelled();
}

Outcome<Scan> Reader::scan() {
  Sha256 hash;
  Scan result;
  bool open_line = false;
  for (std::uint64_t at = 0;;) {
    if (context_.cancelled()) {
      return cancelled();
    }
    AB_TRY(bytes, bytes_at(at, kScanBytes));
    if (bytes.empty()) {
      break;
    }
    at += bytes.size();
    hash.update(bytes);
    result.lines += static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end(), '\n'));
    open_line = !bytes.ends_with('\n');
  }
  result.lines += open_line ? 1U : 0U;
  result.sha256 = hash.hex_digest();
  return result;
}

// The piece as text or base64, and how it got there.
struct Content {
  std::string text;
  bool is_base64 = false;
  bool lossy = false;
  bool lines_cut = false;
};

Content make_content(const Arguments& arguments, const Piece& piece, std::uint64_t first_number) {
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
                        .max_bytes = static_cast<std::size_t>(arguments.integer("max_line_chars"))};
  if (style.numbers || style.max_bytes > 0) {
    content.text = dress_lines(content.text, style, content.lines_cut);
  }
  return content;
}

std::optional<std::uint64_t> first_line_number(Mode mode, const Piece& piece,
                                               const std::optional<Scan>& scan) {
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

Outcome<ToolResult> Reader::reply(Mode mode, const Piece& piece, const std::optional<Scan>& scan) {
  const auto first_number = first_line_number(mode, piece, scan);
  if (arguments_.flag("line_numbers") && !first_number) {
    return ToolError{.code = "INVALID_ARGUMENT",
                     .message = "it is not known which line this piece starts with",
                     .hint = "Use line_numbers with head or start_line, or with tail and sha256",
                     .path = file_.shown};
  }
  const Content content = make_content(arguments_, piece, first_number.value_or(1));
  const std::uint64_t end = piece.offset + piece.bytes.size();
  const bool eof = end >= size();
  const bool more_than_asked = mode == Mode::kBytes ? !eof : piece.cut_short;
  const bool truncated = more_than_asked || content.lines_cut;
  const std::size_t lines = count_lines(piece.bytes);

  OrderedJson json;
  json["path"] = file_.shown;
  json["size"] = size();
  json["mode"] = mode_name(mode);
  json["encoding"] = content.is_base64 ? "base64" : "utf-8";
  json["content"] = content.text;
  json["offset"] = piece.offset;
  json["bytes_returned"] = piece.bytes.size();
  std::string text = "path: " + file_.shown + "\nsize: " + std::to_string(size()) + "\n";
  const auto line = [&](std::string_view name, const std::string& value) {
    text.append(name).append(": ").append(value).append("\n");
  };
  if (mode == Mode::kBytes) {
    line("offset", std::to_string(piece.offset));
    line("bytes_returned", std::to_string(piece.bytes.size()));
  } else {
    line("mode", std::string(mode_name(mode)));
    line("lines_returned", std::to_string(lines));
    json["lines_returned"] = lines;
  }
  line("truncated", truncated ? "true" : "false");
  if (!eof) {
    json["next_offset"] = end;
    line("next_offset", std::to_string(end));
  }
  if (piece.start_line) {
    json["start_line"] = *piece.start_line;
    line("start_line", std::to_string(*piece.start_line));
  }
  if (scan) {
    json["total_lines"] = scan->lines;
    if (mode != Mode::kBytes) {
      line("total_lines", std::to_string(scan->lines));
    }
  }
  json["truncated"] = truncated;
  json["eof"] = eof;
  if (content.lossy) {
    json["lossy"] = true;
    line("lossy", "true (bytes that are not UTF-8 were replaced)");
  }
  if (content.is_base64) {
    line("encoding", "base64");
  }
  if (scan) {
    json["sha256"] = scan->sha256;
    line("sha256", scan->sha256);
  }
  json["mtime"] = timestamp(file_.info.st_mtim);
  text += "--- content ---\n" + content.text;
  return ToolResult{.texts = {std::move(text)}, .structured = std::move(json), .error = {}};
}

Outcome<ToolResult> Reader::read(Mode mode) {
  AB_TRY(piece, read_piece(mode));
  std::optional<Scan> whole;
  if (arguments_.flag("sha256") && size() <= kMaxHashedBytes) {
    AB_TRY(scanned, scan());
    whole = std::move(scanned);
  }
  context_.facts().bytes_out = piece.bytes.size();
  return reply(mode, piece, whole);
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
  auto result = Reader(arguments, context, *file).read(*mode);
  return result.ok() ? std::move(*result) : failed(std::move(result).error());
}

}  // namespace

Tool read_file_tool() {
  Tool tool;
  tool.name = "read_file";
  tool.title = "Read a file";
  tool.description =
      "Read a file. By default returns text from byte offset, up to limit. head/tail give lines "
      "from either end; start_line/line_count give a "
      "line range. Binary content comes back as base64. Also reads the output files that "
      "shell_exec names as output_path.";
  tool.arguments = {
      {.name = "path",
       .description = "File path, relative to the workspace root or absolute inside it.",
       .required = true,
       .min_length = 1,
       .max_length = kMaxPathBytes},
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
  tool.hints = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false};
  tool.meta = R"({"anthropic/alwaysLoad":true,"anthropic/maxResultSizeChars":500000})";
  tool.handler = read_file;
  return tool;
}

}  // namespace agentbox::mcp
