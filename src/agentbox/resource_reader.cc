// edge: see resource_reader.h.
#include "agentbox/resource_reader.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "agentbox/box.h"
#include "agentbox/box_status.h"
#include "agentbox/directory.h"
#include "agentbox/file_bytes.h"
#include "agentbox/file_kind.h"
#include "agentbox/file_text.h"
#include "agentbox/job_folder.h"
#include "agentbox/job_log.h"
#include "agentbox/limits.h"
#include "agentbox/mime.h"
#include "agentbox/process_entry.h"
#include "agentbox/processes.h"
#include "agentbox/prompts.h"
#include "agentbox/timestamps.h"
#include "agentbox/visible.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

// What a text may take inside the reply; the rest is room for its URI and the envelope.
constexpr std::size_t kMaxTextEncoded = kMaxResultBytes - 64 * kKiB;
// A listing is a text of JSON inside JSON: its quotes grow, so it stops well below.
constexpr std::size_t kMaxListingBytes = 3 * kMiB;
// Where the other platform's runner leaves what it knows.
constexpr std::string_view kCiContextPath = ".containarium/ci-context.json";
constexpr std::size_t kMaxCiContextBytes = kMiB;
constexpr std::string_view kNoCiContext =
    R"({"schema_version":"1.0","platform":null,"available":false})";

ResourceContent as_json(const OrderedJson& json) {
  return {.bytes = dump_json(json, 2), .mime_type = "application/json"};
}

ToolError too_large(const Opened& file) {
  return {.code = "TOO_LARGE",
          .message = file.shown + " has " + std::to_string(file.info.st_size) +
                     " bytes; a resource has at most " + std::to_string(kMaxResourceBytes),
          .hint = "read_file and download_chunk read parts of it",
          .path = file.shown};
}

Outcome<std::string> read_whole(const Opened& file, std::size_t limit) {
  if (file.info.st_size > static_cast<off_t>(limit)) {
    return too_large(file);
  }
  auto bytes = read_at(file.fd.get(), 0, limit + 1);
  if (!bytes.ok()) {
    return ToolError{.code = "EIO", .message = bytes.error().what, .path = file.shown};
  }
  if (bytes->size() > limit) {
    return too_large(file);  // it has grown meanwhile
  }
  return std::move(*bytes);
}

bool is_plain_text(std::string_view bytes) {
  return bytes.find('\0') == std::string_view::npos && is_utf8(bytes) &&
         encoded_size(bytes) <= kMaxTextEncoded;
}

OrderedJson folder_entry(const UniqueFd& folder, const Entry& entry, std::string_view prefix) {
  OrderedJson json;
  json["name"] = quote_name(entry.path);
  json["type"] = kind_of_file(entry.info.st_mode).name;
  json["size"] = entry.info.st_size;
  json["mtime"] = timestamp(entry.info.st_mtim);
  if (S_ISLNK(entry.info.st_mode)) {
    json["target"] = quote_name(link_target(folder, entry.path));
  }
  json["uri"] = file_uri(std::string(prefix) + entry.path);
  return json;
}

Outcome<ResourceContent> read_folder(const ResourceUri& uri, const BoxPath& path,
                                     CallContext& context) {
  AB_TRY(folder, context.box().workspace->open_folder(path));
  context.facts().path = folder.shown;
  Listing listing = list_folder(
      folder.fd, {.include_hidden = true, .cancelled = [&context] { return context.cancelled(); }});
  std::sort(listing.entries.begin(), listing.entries.end(),
            [](const Entry& a, const Entry& b) { return a.path < b.path; });
  const std::string prefix = uri.path.ends_with('/') ? uri.path : uri.path + "/";
  OrderedJson entries = OrderedJson::array();
  bool truncated = listing.incomplete;
  std::size_t bytes = 0;
  for (const Entry& entry : listing.entries) {
    OrderedJson one = folder_entry(folder.fd, entry, prefix);
    bytes += dump_json(one).size();
    if (bytes > kMaxListingBytes) {
      truncated = true;
      break;
    }
    entries.push_back(std::move(one));
  }
  const OrderedJson json = {{"path", folder.shown},
                            {"entries", std::move(entries)},
                            {"total", listing.entries.size()},
                            {"truncated", truncated}};
  return ResourceContent{.bytes = dump_json(json), .mime_type = "inode/directory"};
}

Outcome<ResourceContent> read_file_resource(const ResourceUri& uri, CallContext& context) {
  const Workspace& workspace = *context.box().workspace;
  AB_TRY(path, workspace.parse(uri.path));
  auto file = workspace.open_file(path);
  if (!file.ok() && file.error().code == "EISDIR") {
    return read_folder(uri, path, context);
  }
  if (!file.ok()) {
    return std::move(file).error();
  }
  context.facts().path = file->shown;
  AB_TRY(bytes, read_whole(*file, kMaxResourceBytes));
  ResourceContent content;
  content.mime_type = mime_type(uri.path.substr(uri.path.rfind('/') + 1),
                                std::string_view(bytes).substr(0, kMimeBytes));
  content.is_text = is_plain_text(bytes);
  content.bytes = std::move(bytes);
  return content;
}

Outcome<ResourceContent> read_process(const ResourceUri& uri, CallContext& context) {
  const Processes processes(context.box());
  AB_TRY(record, processes.find(uri.process));
  context.facts().path = record.id;
  return as_json(process_entry(context.box(), processes, record));
}

// Whole characters from the end of TEXT that fit a reply.
std::string_view fitting_end(std::string_view text) {
  while (encoded_size(text) > kMaxTextEncoded) {
    text.remove_prefix(text.size() / 8);
    while (!text.empty() && (static_cast<unsigned char>(text.front()) & 0xc0) == 0x80) {
      text.remove_prefix(1);
    }
  }
  return text;
}

Outcome<ResourceContent> read_output_resource(const ResourceUri& uri, CallContext& context) {
  const Processes processes(context.box());
  AB_TRY(record, processes.find(uri.process));
  context.facts().path = record.id;
  LogPart part;
  if (const auto folder = processes.folder().open(record.id); folder.ok()) {
    const auto whole = read_log(folder->get(), 0, 0);
    const std::uint64_t end = whole.ok() ? whole->end : 0;
    auto last = read_log(folder->get(), end - std::min<std::uint64_t>(end, kMaxResourceBytes),
                         kMaxResourceBytes);
    if (last.ok()) {
      part = std::move(*last);
    }
  }
  const Visible visible = make_visible(part.bytes);
  const std::string_view text = fitting_end(visible.text);
  ResourceContent content{.bytes = std::string(text)};
  content.meta["from"] = part.at;
  content.meta["to"] = part.at + part.bytes.size();
  content.meta["truncated"] = part.at > 0 || text.size() < visible.text.size();
  return content;
}

// A point of the clock that never jumps as seconds since 1970.
std::int64_t wall_seconds(std::chrono::steady_clock::time_point time) {
  const auto ago =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - time);
  return now_ms() / 1000 - ago.count();
}

OrderedJson call_entry(const PastCall& past) {
  const record::ToolCalled& call = past.call;
  OrderedJson json = {{"time", timestamp_seconds(wall_seconds(past.ended))},
                      {"tool", call.tool},
                      {"outcome", call.outcome}};
  if (!call.code.empty()) {
    json["code"] = call.code;
  }
  if (!call.path.empty()) {
    json["path"] = call.path;
  }
  json["duration_us"] = call.duration_us;
  json["arguments_bytes"] = call.arguments_bytes;
  json["arguments_sha256"] = call.arguments_sha256;
  json["bytes_in"] = call.bytes_in;
  json["bytes_out"] = call.bytes_out;
  if (call.has_exit_code) {
    json["exit_code"] = call.exit_code;
  }
  return json;
}

Outcome<ResourceContent> read_audit(Role role, const CallHistory& history) {
  if (!may_see_audit(role)) {
    return ToolError{.code = "ENOENT", .message = "there is no such resource"};
  }
  OrderedJson calls = OrderedJson::array();
  for (const PastCall& past : history.recent) {
    calls.push_back(call_entry(past));
  }
  const std::size_t shown = calls.size();
  return as_json({{"calls", std::move(calls)}, {"older", history.ended - shown}});
}

// Whatever agent code wrote there: an object of JSON, or nothing.
ResourceContent read_ci_context(CallContext& context) {
  ResourceContent content{.bytes = std::string(kNoCiContext), .mime_type = "application/json"};
  const auto file = context.box().workspace->open_file({.relative = std::string(kCiContextPath)});
  auto bytes = file.ok() ? read_whole(*file, kMaxCiContextBytes)
                         : Outcome<std::string>(ToolError{.code = "ENOENT", .message = ""});
  if (bytes.ok()) {
    const auto json = parse_json(*bytes);
    if (json.ok() && json->is_object()) {
      content.bytes = std::move(*bytes);
    }
  }
  return content;
}

}  // namespace

bool may_see_audit(Role role) { return role == Role::kAdmin || role == Role::kOperator; }

Outcome<ResourceContent> read_resource(const ResourceUri& uri, Role role,
                                       const CallHistory& history, CallContext& context) {
  switch (uri.kind) {
    case ResourceKind::kFile:
      return read_file_resource(uri, context);
    case ResourceKind::kProcess:
      return read_process(uri, context);
    case ResourceKind::kOutput:
      return read_output_resource(uri, context);
    case ResourceKind::kStatus:
      return as_json(box_status(context.box(), history));
    case ResourceKind::kMetadata:
      return as_json({{"env", sandbox_metadata(context.box().settings)}});
    case ResourceKind::kAudit:
      return read_audit(role, history);
    case ResourceKind::kCiContext:
      return read_ci_context(context);
    case ResourceKind::kCiPrompt:
      return ResourceContent{.bytes = std::string(ci_playbook()), .mime_type = "text/markdown"};
  }
  return ToolError{.code = "INTERNAL", .message = "unknown kind of resource"};
}

}  // namespace agentbox::mcp
