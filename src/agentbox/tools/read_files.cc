// edge: read_files: the beginnings of several files in one answer.
#include <algorithm>
#include <string>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/file_bytes.h"
#include "agentbox/file_reader.h"
#include "agentbox/file_text.h"
#include "agentbox/limits.h"
#include "agentbox/os_error.h"
#include "agentbox/reply_builder.h"
#include "agentbox/tools/tools.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

constexpr std::size_t kMaxFiles = 50;
constexpr std::int64_t kDefaultBytes = 32'768;
constexpr std::int64_t kMaxBytes = 262'144;
constexpr std::size_t kMaxTotalBytes = 1 * kMiB;
// One copy of all contents as JSON text; a byte takes six at worst.
constexpr std::size_t kMaxEncodedBytes = kMaxResultBytes / 2 - 256 * kKiB;
constexpr std::size_t kWorstBytesPerByte = 6;
// Larger files go without a hash: fifty of them would take too long.
constexpr std::uint64_t kMaxHashedBytes = 16ULL << 20;

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"files":{"type":"array","items":{"type":"object","properties":{
"path":{"type":"string"},"size":{"type":"integer"},"encoding":{"type":"string","enum":["utf-8","base64"]},"content":{"type":"string"},
"truncated":{"type":"boolean"},"sha256":{"type":"string","pattern":"^[0-9a-f]{64}$","description":"Of the whole file, up to 16 MiB."},
"error":{"type":"string","description":"CODE: message"},"error_code":{"type":"string"}},
"required":["path"]},"description":"In the order asked."},
"errors":{"type":"integer","description":"How many failed."}},
"required":["files","errors"]})";

struct OneFile {
  OrderedJson json;
  std::string text;
};

// Reads file after file into what room there is left.
class Batch {
 public:
  Batch(const Arguments& arguments, CallContext& context)
      : arguments_(arguments), context_(context) {}

  ToolResult run() {
    OrderedJson files = OrderedJson::array();
    std::string text;
    for (const std::string& given : arguments_.list("paths")) {
      auto one = read(given);
      if (!one.ok()) {
        ++errors_;
        one = failure(given, one.error());
      }
      text += one->text;
      files.push_back(std::move(one->json));
    }
    context_.facts().bytes_out = bytes_;
    ReplyBuilder reply;
    reply.data("files", std::move(files));
    reply.both("errors", errors_);
    ToolResult result = reply.finish();
    result.texts.front() += text;
    return result;
  }

 private:
  static OneFile failure(const std::string& given, const ToolError& error) {
    const std::string shown = error.path.empty() ? quote_name(given) : error.path;
    const std::string why = error.code + ": " + error.message;
    OneFile one;
    one.json["path"] = shown;
    one.json["error"] = why;
    one.json["error_code"] = error.code;
    one.text = "--- " + shown + " ---\nerror: " + why + "\n";
    return one;
  }

  Outcome<OneFile> read(const std::string& given) {
    const Workspace& workspace = *context_.box().workspace;
    AB_TRY(path, workspace.parse(given));
    AB_TRY(file, workspace.open_file(path));
    const std::size_t room = std::min(kMaxTotalBytes - bytes_, kMaxEncodedBytes - encoded_);
    const auto wanted = static_cast<std::size_t>(arguments_.integer("limit_per_file"));
    AB_TRY(content, take(file, std::min(wanted, room)));
    if (encoded_size(content.text) > kMaxEncodedBytes - encoded_) {
      AB_TRY(smaller, take(file, (kMaxEncodedBytes - encoded_) / kWorstBytesPerByte));
      content = std::move(smaller);
    }
    bytes_ += content.bytes;
    encoded_ += encoded_size(content.text);
    return describe(file, content);
  }

  struct Content {
    std::string text;
    bool is_base64 = false;
    std::size_t bytes = 0;
  };
  Outcome<Content> take(const Opened& file, std::size_t limit) {
    const std::string& encoding = arguments_.text("encoding");
    const FileReader reader(file, limit, [this] { return context_.cancelled(); });
    FilePiece piece;
    if (limit > 0) {
      AB_TRY(read, reader.bytes(0, encoding == "base64"));
      piece = std::move(read);
    }
    const bool is_text = is_utf8(piece.bytes);
    Content content;
    content.bytes = piece.bytes.size();
    content.is_base64 = encoding == "base64" || (encoding == "auto" && !is_text);
    content.text =
        content.is_base64 ? base64_encode(piece.bytes) : replace_invalid_utf8(piece.bytes);
    return content;
  }

  Outcome<OneFile> describe(const Opened& file, const Content& content) {
    const auto size = static_cast<std::uint64_t>(file.info.st_size);
    const bool truncated = content.bytes < size;
    OneFile one;
    one.json["path"] = file.shown;
    one.json["size"] = size;
    one.json["encoding"] = content.is_base64 ? "base64" : "utf-8";
    one.json["content"] = content.text;
    one.json["truncated"] = truncated;
    one.text = "--- " + file.shown + " ---\nsize: " + std::to_string(size) +
               "\nbytes_returned: " + std::to_string(content.bytes) +
               "\ntruncated: " + (truncated ? "true" : "false") + "\n";
    if (content.is_base64) {
      one.text += "encoding: base64\n";
    }
    if (size <= kMaxHashedBytes) {
      const auto hash =
          hash_file(file.fd.get(), kMaxHashedBytes, [this] { return context_.cancelled(); });
      if (!hash.ok()) {
        return os_error(file.shown, hash.error());
      }
      one.json["sha256"] = *hash;
      one.text += "sha256: " + *hash + "\n";
    }
    one.text += "--- content ---\n" + content.text;
    if (!content.text.empty() && !content.text.ends_with('\n')) {
      one.text.push_back('\n');
    }
    return one;
  }

  const Arguments& arguments_;
  CallContext& context_;
  std::size_t bytes_ = 0;
  std::size_t encoded_ = 0;
  std::size_t errors_ = 0;
};

ToolResult read_files(const Arguments& arguments, CallContext& context) {
  return Batch(arguments, context).run();
}

}  // namespace

Tool read_files_tool() {
  Tool tool;
  tool.name = "read_files";
  tool.title = "Read several files";
  tool.description =
      "Read up to 50 files in one call, 1 MiB in all. Each has its own content or error; one "
      "missing file does not fail the rest.";
  tool.arguments = {
      {.name = "paths",
       .type = ArgumentType::kStringList,
       .description = "Files to read.",
       .required = true,
       .min_items = 1,
       .max_items = kMaxFiles},
      {.name = "limit_per_file",
       .type = ArgumentType::kInteger,
       .description = "Most bytes of each.",
       .fallback = kDefaultBytes,
       .minimum = 1,
       .maximum = kMaxBytes},
      {.name = "encoding",
       .description = "auto: text if valid UTF-8, else base64.",
       .fallback = std::string_view("auto"),
       .choices = {"auto", "utf-8", "base64"}},
  };
  tool.output_schema = kOutputSchema;
  tool.hints = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false};
  tool.handler = read_files;
  return tool;
}

}  // namespace agentbox::mcp
