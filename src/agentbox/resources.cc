// edge: see resources.h.
#include "agentbox/resources.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "agentbox/call.h"
#include "agentbox/jsonrpc.h"
#include "agentbox/page_cursor.h"
#include "agentbox/replies.h"
#include "agentbox/resource_list.h"
#include "agentbox/resource_reader.h"
#include "agentbox/resource_uri.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

constexpr std::string_view kListName = "resources/list";
// Templates change only with a new version of this program.
constexpr int kTemplatesTtlMs = 60'000;

// The cursor in PARAMS as a key of LIST, empty where there is none; nothing where it is bad.
std::optional<std::string> key_of_cursor(const Json& params, std::string_view list) {
  const Json* cursor = find_member(params, "cursor");
  if (cursor == nullptr || cursor->is_null()) {
    return "";
  }
  const auto* text = cursor->get_ptr<const std::string*>();
  return text == nullptr ? std::nullopt : read_page_cursor(list, *text);
}

MethodReply bad_cursor() {
  return method_failure(rpc::kInvalidParams,
                        "Invalid params: unknown cursor; list again without one");
}

OrderedJson resource_entry(const ResourceItem& item, Version version) {
  const VersionFeatures& has = features(version);
  OrderedJson entry = {{"uri", item.uri}, {"name", item.name}};
  if (has.structured_output) {
    entry["title"] = item.title;
  }
  if (!item.description.empty()) {
    entry["description"] = item.description;
  }
  if (!item.mime_type.empty()) {
    entry["mimeType"] = item.mime_type;
  }
  if (item.size && has.annotations) {
    entry["size"] = *item.size;
  }
  if (item.changed && has.structured_output) {
    entry["annotations"] = {{"lastModified", *item.changed}};
  }
  return entry;
}

MethodReply list(const MethodCall& call, CallContext& context) {
  const auto after = key_of_cursor(call.params, kListName);
  if (!after) {
    return bad_cursor();
  }
  const ResourcePage page = list_resources(call.role, *after, context);
  MethodReply reply;
  OrderedJson& resources = reply.result["resources"] = OrderedJson::array();
  for (const ResourceItem& item : page.items) {
    resources.push_back(resource_entry(item, call.version));
  }
  if (!page.next.empty()) {
    reply.result["nextCursor"] = make_page_cursor(kListName, page.next);
  }
  return reply;
}

struct Template {
  std::string_view uri;
  std::string_view name;
  std::string_view title;
  std::string_view description;
  std::string_view mime_type;  // empty: differs
};
constexpr std::array kTemplates{
    Template{kFileTemplate, "file", "File or folder",
             "A file inside the workspace, by its absolute path; a folder as a listing in JSON.",
             ""},
    Template{kProcessTemplate, "process", "State of a process",
             "By its process_id or its name, as process_list shows it.", "application/json"},
    Template{kOutputTemplate, "process-output", "Output of a process",
             "Everything it printed, or the last 5 MiB of it.", "text/plain"}};

MethodReply list_templates(const MethodCall& call, CallContext& /*context*/) {
  // All fit on one page, so no cursor was ever given out.
  if (const auto after = key_of_cursor(call.params, "resources/templates/list");
      !after || !after->empty()) {
    return bad_cursor();
  }
  MethodReply reply;
  OrderedJson& templates = reply.result["resourceTemplates"] = OrderedJson::array();
  for (const Template& one : kTemplates) {
    OrderedJson entry = {{"uriTemplate", one.uri}, {"name", one.name}};
    if (features(call.version).structured_output) {
      entry["title"] = one.title;
    }
    entry["description"] = one.description;
    if (!one.mime_type.empty()) {
      entry["mimeType"] = one.mime_type;
    }
    templates.push_back(std::move(entry));
  }
  return reply;
}

// What of the errors of files and processes means that there is no such resource.
bool says_not_there(std::string_view code) {
  for (const std::string_view one :
       {"ENOENT", "ENOTDIR", "ELOOP", "ENAMETOOLONG", "ESCAPE", "UNKNOWN_PROCESS"}) {
    if (code == one) {
      return true;
    }
  }
  return false;
}

int rpc_code(std::string_view code, Version version) {
  if (says_not_there(code)) {
    return features(version).modern ? rpc::kInvalidParams : rpc::kResourceNotFound;
  }
  return code.starts_with('E') || code == "INTERNAL" ? rpc::kInternalError : rpc::kInvalidParams;
}

MethodReply refuse(const ToolError& error, const std::string& uri, Version version) {
  return method_failure(rpc_code(error.code, version), error_text("resources/read", error),
                        {{"uri", uri}, {"code", error.code}});
}

MethodReply read(const MethodCall& call, CallContext& context) {
  const std::string* uri = find_string(call.params, "uri");
  if (uri == nullptr) {
    return method_failure(rpc::kInvalidParams, "Invalid params: \"uri\" must be a string");
  }
  const auto parsed = parse_resource_uri(*uri);
  if (!parsed.ok()) {
    const bool unknown = parsed.error().code == Code::kNotFound;
    return refuse({.code = unknown ? "ENOENT" : "INVALID_URI", .message = parsed.error().what},
                  *uri, call.version);
  }
  const auto content = read_resource(*parsed, call.role, call.history, context);
  if (!content.ok()) {
    return refuse(content.error(), *uri, call.version);
  }
  context.facts().bytes_out = content->bytes.size();
  OrderedJson item = {{"uri", *uri}, {"mimeType", content->mime_type}};
  if (content->is_text) {
    item["text"] = content->bytes;
  } else {
    item["blob"] = base64_encode(content->bytes);
  }
  if (!content->meta.is_null() && features(call.version).structured_output) {
    item["_meta"]["agentbox/log"] = content->meta;
  }
  MethodReply reply;
  reply.result["contents"] = OrderedJson::array({std::move(item)});
  return reply;
}

}  // namespace

std::vector<Method> resource_methods() {
  return {{.name = kListName, .cacheable = true, .handler = list},
          {.name = "resources/templates/list",
           .cacheable = true,
           .ttl_ms = kTemplatesTtlMs,
           .handler = list_templates},
          {.name = "resources/read", .cacheable = true, .wants_history = true, .handler = read}};
}

}  // namespace agentbox::mcp
