// edge: list_blobs, write_random_blob, read_blob: word for word what the seed server answers.
#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/directory.h"
#include "agentbox/file_bytes.h"
#include "agentbox/file_writer.h"
#include "agentbox/leaf_file.h"
#include "agentbox/os_error.h"
#include "agentbox/tools/tools.h"

namespace agentbox::mcp {
namespace {

constexpr std::int64_t kMaxBlobBytes = 16LL << 20;
// More names than this would not fit a reply in both its copies.
constexpr std::size_t kMaxBlobs = 10'000;

constexpr std::string_view kListSchema =
    R"({"type":"object","properties":{"result":{"type":"array","items":{"type":"string"},"description":"Sorted file names."}},"required":["result"]})";
constexpr std::string_view kWriteSchema =
    R"({"type":"object","properties":{"path":{"type":"string"},"bytes_written":{"type":"integer"},"sha256":{"type":"string","pattern":"^[0-9a-f]{64}$"}},"required":["path","bytes_written","sha256"]})";
constexpr std::string_view kReadSchema =
    R"({"type":"object","properties":{"path":{"type":"string"},"size_bytes":{"type":"integer"},"sha256":{"type":"string","pattern":"^[0-9a-f]{64}$"}},"required":["path","size_bytes","sha256"]})";

// TEXT as Python's repr() shows a string; bytes from 0x80 up stay as they are.
std::string python_repr(std::string_view text) {
  const bool use_double =
      text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
  const char quote = use_double ? '"' : '\'';
  std::string result(1, quote);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == quote || c == '\\') {
      result.append({'\\', c});
    } else if (c == '\n' || c == '\r' || c == '\t') {
      result.append({'\\', c == '\n' ? 'n' : c == '\r' ? 'r' : 't'});
    } else if (byte < 0x20 || byte == 0x7f) {
      std::array<char, 8> escaped{};
      (void)std::snprintf(escaped.data(), escaped.size(), "\\x%02x", byte);
      result.append(escaped.data());
    } else {
      result.push_back(c);
    }
  }
  result.push_back(quote);
  return result;
}

// The errno that an error's code stands for, 0 where it stands for none.
int errno_of(std::string_view code) {
  for (const int number :
       {ENOENT, EISDIR, ENOTDIR, EACCES, EPERM, ENOSPC, EROFS, ELOOP, ENAMETOOLONG}) {
    if (error_code_name(number) == code) {
      return number;
    }
  }
  return 0;
}

// The error as the seed words it.
ToolError as_seed(ToolError error, std::string_view tool, const std::string& name,
                  const std::string& shown) {
  const std::string stem = "Error executing tool " + std::string(tool) + ": ";
  const int number = errno_of(error.code);
  if (error.code == "ESCAPE") {
    error.verbatim = stem + "path escapes workspace: " + python_repr(name);
  } else if (number != 0) {
    error.verbatim = stem + "[Errno " + std::to_string(number) + "] " +
                     std::generic_category().message(number) + ": " + python_repr(shown);
  } else {
    error.verbatim = stem + error.message;
  }
  return error;
}

// A blob's name inside the workspace; nothing else counts as inside.
Outcome<BoxPath> parse_blob_name(const Workspace& workspace, const std::string& name) {
  AB_TRY(path, workspace.parse(name.empty() ? "." : name));
  if (path.root != Root::kWorkspace) {
    return ToolError{.code = "ESCAPE", .message = "outside the workspace"};
  }
  return path;
}

ToolResult list_blobs(const Arguments& /*arguments*/, CallContext& context) {
  const Workspace& workspace = *context.box().workspace;
  auto folder = workspace.open_folder({});
  if (!folder.ok()) {
    return failed(std::move(folder).error());
  }
  const Listing listing = list_folder(
      folder->fd, {.depth = 1, .include_hidden = true, .want_info = true, .cancelled = [&context] {
                     return context.cancelled();
                   }});
  std::vector<std::string> names;
  for (const Entry& entry : listing.entries) {
    if (entry.known && S_ISREG(entry.info.st_mode)) {
      names.push_back(quote_name(entry.path));
    }
  }
  if (names.size() > kMaxBlobs || listing.incomplete) {
    return tool_failure("TOO_LARGE",
                        "the workspace holds more than " + std::to_string(kMaxBlobs) + " files",
                        "Use list_directory, which gives them in pages");
  }
  std::sort(names.begin(), names.end());
  OrderedJson json;
  json["result"] = names;
  return {.texts = std::move(names), .structured = std::move(json), .error = {}};
}

Outcome<std::string> random_bytes(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t filled = 0; filled < size;) {
    const ssize_t got = ::getrandom(bytes.data() + filled, size - filled, 0);
    if (got < 0 && errno != EINTR) {
      return os_error("read", "random bytes", errno);
    }
    filled += got > 0 ? static_cast<std::size_t>(got) : 0;
  }
  return bytes;
}

ToolResult write_random_blob(const Arguments& arguments, CallContext& context) {
  const Box& box = context.box();
  const std::string& name = arguments.text("name");
  const std::int64_t size = arguments.integer("size_bytes");
  const auto fail = [&](ToolError error, const std::string& shown) {
    return failed(as_seed(std::move(error), "write_random_blob", name, shown));
  };
  if (size < 0 || size > kMaxBlobBytes) {
    return fail({.code = "INVALID_ARGUMENT", .message = "size_bytes must be in [0, 16 MiB]"}, "");
  }
  auto path = parse_blob_name(*box.workspace, name);
  if (!path.ok()) {
    return fail(std::move(path).error(), name);
  }
  const std::string shown = box.workspace->show(*path);
  context.facts().path = shown;
  auto data = random_bytes(static_cast<std::size_t>(size));
  if (!data.ok()) {
    return fail(std::move(data).error(), shown);
  }
  WriteRequest request;
  request.data = *data;
  request.make_folders = false;
  auto outcome = write_file(*box.workspace, *path, request, box.keep_folder);
  if (!outcome.ok()) {
    return fail(std::move(outcome).error(), shown);
  }
  context.facts().bytes_in = data->size();
  OrderedJson json;
  json["path"] = shown;
  json["bytes_written"] = data->size();
  json["sha256"] = outcome->sha256;
  return {.texts = {dump_json(json, 2)}, .structured = json, .error = {}};
}

ToolResult read_blob(const Arguments& arguments, CallContext& context) {
  const Workspace& workspace = *context.box().workspace;
  const std::string& name = arguments.text("name");
  const auto fail = [&](ToolError error, const std::string& shown) {
    return failed(as_seed(std::move(error), "read_blob", name, shown));
  };
  auto path = parse_blob_name(workspace, name);
  if (!path.ok()) {
    return fail(std::move(path).error(), name);
  }
  const std::string shown = workspace.show(*path);
  context.facts().path = shown;
  auto file = workspace.open_file(*path);
  if (!file.ok()) {
    return fail(std::move(file).error(), shown);
  }
  auto hash = hash_file(file->fd.get(), kMaxHashBytes, [&context] { return context.cancelled(); });
  if (!hash.ok()) {
    const bool too_large = hash.error().code == Code::kLimit;
    return fail(too_large ? ToolError{.code = "TOO_LARGE", .message = hash.error().what}
                          : os_error(shown, hash.error()),
                shown);
  }
  OrderedJson json;
  json["path"] = shown;
  json["size_bytes"] = file->info.st_size;
  json["sha256"] = *hash;
  return {.texts = {dump_json(json, 2)}, .structured = json, .error = {}};
}

}  // namespace

Tool list_blobs_tool() {
  Tool tool;
  tool.name = "list_blobs";
  tool.title = "List blobs";
  tool.description = "Return the names of all files directly under the workspace.";
  tool.output_schema = kListSchema;
  tool.hints = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false};
  tool.handler = list_blobs;
  return tool;
}

Tool write_random_blob_tool() {
  Tool tool;
  tool.name = "write_random_blob";
  tool.title = "Write a random blob";
  tool.description =
      "Write size_bytes random bytes to <workspace>/<name> and return path, size and sha256.";
  tool.arguments = {
      {.name = "name", .description = "File name inside the workspace.", .required = true},
      // No bounds here: the tool words their error itself, as the seed does.
      {.name = "size_bytes",
       .type = ArgumentType::kInteger,
       .description = "0 to 16 MiB (16777216).",
       .required = true},
  };
  tool.output_schema = kWriteSchema;
  tool.hints = {.read_only = false, .destructive = true, .idempotent = true, .open_world = false};
  tool.handler = write_random_blob;
  return tool;
}

Tool read_blob_tool() {
  Tool tool;
  tool.name = "read_blob";
  tool.title = "Hash a blob";
  tool.description = "Return size and sha256 of <workspace>/<name> (no contents).";
  tool.arguments = {
      {.name = "name", .description = "File name inside the workspace.", .required = true}};
  tool.output_schema = kReadSchema;
  tool.hints = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false};
  tool.handler = read_blob;
  return tool;
}

}  // namespace agentbox::mcp
