// edge: file_info: what a name is, without reading more of it than was asked for.
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>

#include "agentbox/beneath.h"
#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/file_bytes.h"
#include "agentbox/file_kind.h"
#include "agentbox/file_reader.h"
#include "agentbox/leaf_file.h"
#include "agentbox/mime.h"
#include "agentbox/new_file.h"
#include "agentbox/os_error.h"
#include "agentbox/reply_builder.h"
#include "agentbox/timestamps.h"
#include "agentbox/tools/tools.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

// Counting the lines of larger files would take longer than the rest is worth.
constexpr std::uint64_t kMaxCountedBytes = 16ULL << 20;

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"path":{"type":"string"},"exists":{"type":"boolean"},
"type":{"type":"string","enum":["file","directory","symlink","fifo","socket","block","char","unknown"]},
"size":{"type":"integer"},"mode":{"type":"string"},"uid":{"type":"integer"},"gid":{"type":"integer"},
"mtime":{"type":"string"},"ctime":{"type":"string"},"atime":{"type":"string"},
"btime":{"type":"string","description":"Birth, where the file system knows it."},
"nlink":{"type":"integer"},"inode":{"type":"integer"},
"target":{"type":"string","description":"Of a symlink."},"mime_type":{"type":"string"},
"binary":{"type":"boolean","description":"Its beginning is no text."},
"line_count":{"type":"integer","description":"Text files up to 16 MiB."},
"sha256":{"type":"string","pattern":"^[0-9a-f]{64}$"}},
"required":["path","exists"]})";

// To the nanosecond for programs; a reader of the text has no use for that.
void add_time(ReplyBuilder& reply, const char* name, const timespec& time) {
  reply.data(name, timestamp(time));
  reply.line(name, timestamp_seconds(time.tv_sec));
}

void add_metadata(ReplyBuilder& reply, const struct stat& info) {
  reply.both("type", std::string(kind_of_file(info.st_mode).name));
  reply.both("size", static_cast<std::uint64_t>(info.st_size));
  reply.both("mode", octal_mode(info.st_mode));
  reply.both("uid", info.st_uid);
  reply.both("gid", info.st_gid);
  add_time(reply, "mtime", info.st_mtim);
  add_time(reply, "ctime", info.st_ctim);
  add_time(reply, "atime", info.st_atim);
}

void add_birth(ReplyBuilder& reply, int entry) {
  struct statx about {};
  if (::statx(entry, "", AT_EMPTY_PATH, STATX_BTIME, &about) == 0 &&
      (about.stx_mask & STATX_BTIME) != 0) {
    add_time(
        reply, "btime",
        {.tv_sec = about.stx_btime.tv_sec, .tv_nsec = static_cast<long>(about.stx_btime.tv_nsec)});
  }
}

// What only reading tells. A file that may not be read goes without, unless its hash was asked for.
std::optional<ToolError> add_content(ReplyBuilder& reply, const BoxPath& path,
                                     const struct stat& info, const Arguments& arguments,
                                     CallContext& context) {
  const Workspace& workspace = *context.box().workspace;
  const bool hash_wanted = arguments.flag("sha256");
  auto file = workspace.open_file(path);
  if (!file.ok()) {
    return hash_wanted ? std::optional(std::move(file).error()) : std::nullopt;
  }
  if (!same_file(file->info, info)) {
    return conflict(file->shown, file->shown + " was replaced by somebody else meanwhile");
  }
  const auto cancelled = [&context] { return context.cancelled(); };
  const FileReader reader(*file, kMimeBytes, cancelled);
  const auto first = reader.first_bytes(kMimeBytes);
  if (first.ok()) {
    const std::string_view type = mime_type(file->shown, *first);
    const bool binary = mime_type("", *first).substr(0, 5) != "text/";
    reply.both("mime_type", std::string(type));
    reply.quiet_flag("binary", binary);
    if (!binary && reader.size() <= kMaxCountedBytes) {
      if (const auto scan = reader.scan(); scan.ok()) {
        reply.both("line_count", scan->lines);
      }
    }
  }
  if (!hash_wanted) {
    return std::nullopt;
  }
  const auto hash = hash_file(file->fd.get(), kMaxHashBytes, cancelled);
  if (!hash.ok()) {
    return os_error(file->shown, hash.error());
  }
  reply.both("sha256", *hash);
  return std::nullopt;
}

Outcome<ToolResult> describe(const BoxPath& path, const Arguments& arguments,
                             CallContext& context) {
  const Workspace& workspace = *context.box().workspace;
  const std::string shown = workspace.show(path);
  ReplyBuilder reply;
  reply.both("path", shown);
  const auto entry =
      arguments.flag("follow") ? workspace.open_entry(path) : workspace.open_name(path);
  if (!entry.ok()) {
    const int number = entry.error().os_errno;
    if (number != ENOENT && number != ENOTDIR) {
      return os_error(shown, entry.error());
    }
    reply.flag("exists", false);
    return reply.finish();
  }
  struct stat info {};
  if (::fstat(entry->get(), &info) != 0) {
    return os_error("stat", shown, errno);
  }
  reply.flag("exists", true);
  add_metadata(reply, info);
  add_birth(reply, entry->get());
  reply.both("nlink", info.st_nlink);
  reply.both("inode", info.st_ino);
  if (S_ISLNK(info.st_mode)) {
    if (const auto target = read_link(entry->get()); target.ok()) {
      reply.both("target", quote_name(*target));
    }
  } else if (S_ISREG(info.st_mode)) {
    if (auto error = add_content(reply, path, info, arguments, context)) {
      return *std::move(error);
    }
  }
  return reply.finish();
}

ToolResult file_info(const Arguments& arguments, CallContext& context) {
  auto path = context.box().workspace->parse(arguments.text("path"));
  if (!path.ok()) {
    return failed(std::move(path).error());
  }
  context.facts().path = context.box().workspace->show(*path);
  auto result = describe(*path, arguments, context);
  return result.ok() ? std::move(*result) : failed(std::move(result).error());
}

}  // namespace

Tool file_info_tool() {
  Tool tool;
  tool.name = "file_info";
  tool.title = "Stat a path";
  tool.description =
      "Tell whether a path exists, and its type, size, mode, owner, times and mime type; sha256 "
      "on request. A missing path is exists: false, no error. A link is not followed.";
  tool.arguments = {
      file_path_argument(),
      {.name = "sha256",
       .type = ArgumentType::kBoolean,
       .description = "Hash a regular file.",
       .fallback = false},
      {.name = "follow",
       .type = ArgumentType::kBoolean,
       .description = "Follow a final symlink inside the root.",
       .fallback = false},
  };
  tool.output_schema = kOutputSchema;
  tool.tier = Tier::kCore;
  tool.hints = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false};
  tool.handler = file_info;
  return tool;
}

}  // namespace agentbox::mcp
