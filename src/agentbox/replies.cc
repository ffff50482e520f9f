// pure: see replies.h.
#include "agentbox/replies.h"

#include <algorithm>
#include <utility>

#include "agentbox/jsonrpc.h"
#include "agentbox/limits.h"
#include "agentbox/subscriptions.h"
#include "base/defence.h"

namespace agentbox::mcp {
namespace {

// How long a client may keep lists: they change only with a new version of this program.
constexpr int kListTtlMs = 60'000;

OrderedJson server_info(Version version) {
  OrderedJson info = {{"name", "agent-box"}};
  if (features(version).structured_output) {
    info["title"] = "agentbox";
  }
  info["version"] = AGENTBOX_VERSION;
  if (features(version).server_description) {
    info["description"] = "Shell, files and processes of one sandbox";
  }
  return info;
}

bool has_method(std::span<const Method> methods, std::string_view name) {
  return std::any_of(methods.begin(), methods.end(),
                     [&](const Method& one) { return one.name == name; });
}

OrderedJson capabilities(Version version, std::span<const Method> methods) {
  const OrderedJson there = OrderedJson::object();
  OrderedJson all = {{"tools", there}, {"logging", there}};
  if (has_method(methods, "resources/read")) {
    all["resources"] = {{"subscribe", true}, {"listChanged", true}};
  }
  if (has_method(methods, "prompts/get")) {
    all["prompts"] = there;
  }
  // Before 2025-03-26 the method had no capability of its own.
  if (features(version).annotations && has_method(methods, "completion/complete")) {
    all["completions"] = there;
  }
  if (features(version).core_tasks && has_method(methods, "tasks/get")) {
    all["tasks"] = {
        {"list", there}, {"cancel", there}, {"requests", {{"tools", {{"call", there}}}}}};
  }
  if (features(version).modern && has_method(methods, "tasks/get")) {
    all["extensions"][std::string(meta::kTasksExtension)] = there;
  }
  return all;
}

// What every result of VERSION starts with, and what it ends with.
OrderedJson open_result(Version version) {
  OrderedJson result = OrderedJson::object();
  if (features(version).modern) {
    result["resultType"] = "complete";
  }
  return result;
}

void close_result(OrderedJson& result, Version version) {
  if (features(version).modern) {
    result["_meta"][std::string(meta::kServerInfo)] = server_info(version);
  }
}

void allow_caching(OrderedJson& result, Version version, int ttl_ms = kListTtlMs) {
  if (features(version).modern) {
    result["ttlMs"] = ttl_ms;
    result["cacheScope"] = "private";
  }
}

OrderedJson parsed(std::string_view text) {
  auto value = parse_json(text);
  return value.ok() ? OrderedJson(value.value()) : OrderedJson();
}

OrderedJson tool_entry(const Tool& tool, Version version) {
  const VersionFeatures& has = features(version);
  OrderedJson entry = {{"name", tool.name}};
  if (has.structured_output) {
    entry["title"] = tool.title;
  }
  entry["description"] = tool.description;
  entry["inputSchema"] = input_schema(tool.arguments);
  if (has.structured_output && !tool.output_schema.empty()) {
    entry["outputSchema"] = parsed(tool.output_schema);
  }
  if (has.annotations) {
    entry["annotations"] = {{"title", tool.title},
                            {"readOnlyHint", tool.hints.read_only},
                            {"destructiveHint", tool.hints.destructive},
                            {"idempotentHint", tool.hints.idempotent},
                            {"openWorldHint", tool.hints.open_world}};
  }
  if (has.core_tasks && tool.may_be_task) {
    entry["execution"] = {{"taskSupport", "optional"}};
  }
  if (has.structured_output && !tool.meta.empty()) {
    entry["_meta"] = parsed(tool.meta);
  }
  return entry;
}

void add_sentence(std::string& text, std::string_view sentence) {
  text += sentence;
  if (!sentence.ends_with('.') && !sentence.ends_with('?') && !sentence.ends_with('!')) {
    text += '.';
  }
}

OrderedJson error_result(std::string_view tool_name, const ToolError& error, Version version) {
  OrderedJson about = {{"code", error.code}};
  if (!error.path.empty()) {
    about["path"] = error.path;
  }
  if (!error.details.is_null()) {
    about["details"] = error.details;
  }
  OrderedJson result = open_result(version);
  result["content"] = OrderedJson::array({text_block(error_text(tool_name, error))});
  result["isError"] = true;
  result["_meta"][std::string(meta::kError)] = std::move(about);
  close_result(result, version);
  return result;
}

OrderedJson success_result(const ToolResult& tool_result, Version version) {
  OrderedJson result = open_result(version);
  OrderedJson content = OrderedJson::array();
  for (const std::string& text : tool_result.texts) {
    content.push_back(text_block(text));
  }
  for (const ContentBlock& block : tool_result.blocks) {
    content.push_back(render_block(block, version));
  }
  result["content"] = std::move(content);
  if (features(version).structured_output && !tool_result.structured.is_null()) {
    result["structuredContent"] = tool_result.structured;
  }
  result["isError"] = false;
  close_result(result, version);
  return result;
}

}  // namespace

bool may_call(Role role, const Tool& tool) {
  if (!defended("roles")) {
    return true;
  }
  if (tool.tier == Tier::kAdmin) {
    return role == Role::kAdmin;
  }
  return role != Role::kReader || tool.hints.read_only;
}

bool may_ask(Role role, const Method& method) {
  return !defended("roles") || role != Role::kReader || method.read_only;
}

std::string initialize_result(Version version, std::span<const Method> methods,
                              std::string_view instructions) {
  return dump_json(OrderedJson{{"protocolVersion", features(version).name},
                               {"capabilities", capabilities(version, methods)},
                               {"serverInfo", server_info(version)},
                               {"instructions", instructions}});
}

std::string discover_result(std::span<const Method> methods, std::string_view instructions) {
  OrderedJson result = open_result(Version::k2026_07_28);
  for (const Version version : all_versions()) {
    result["supportedVersions"].push_back(features(version).name);
  }
  result["capabilities"] = capabilities(Version::k2026_07_28, methods);
  result["instructions"] = instructions;
  allow_caching(result, Version::k2026_07_28);
  close_result(result, Version::k2026_07_28);
  return dump_json(result);
}

std::string empty_result(Version version) {
  OrderedJson result = open_result(version);
  close_result(result, version);
  return dump_json(result);
}

std::string acknowledged_line(std::string_view id_json, const OrderedJson& notifications) {
  // The id is put in as the text it came as: type and value are the client's.
  std::string line = R"({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged",)"
                     R"("params":{"notifications":)";
  line.append(dump_json(notifications)).append(R"(,"_meta":{")").append(meta::kSubscriptionId);
  return line.append("\":").append(id_json).append("}}}");
}

std::string updated_line(std::string_view id_json, const std::string& uri) {
  const bool list = uri == kResourceList;
  std::string line = R"({"jsonrpc":"2.0","method":"notifications/resources/)";
  line.append(list ? "list_changed" : "updated").append(R"(","params":{)");
  if (!list) {
    line.append(R"("uri":)").append(dump_json(Json(uri)));
  }
  if (!id_json.empty()) {
    line.append(list ? "" : ",").append(R"("_meta":{")").append(meta::kSubscriptionId);
    line.append("\":").append(id_json).append("}");
  }
  return line.append("}}");
}

std::string listen_result(std::string_view id_json) {
  std::string result = R"({"resultType":"complete","_meta":{")";
  result.append(meta::kSubscriptionId).append("\":").append(id_json);
  result.append(",\"").append(meta::kServerInfo).append("\":");
  return result.append(dump_json(server_info(Version::k2026_07_28))).append("}}");
}

std::string tools_list_result(std::span<const Tool> tools, Role role, Version version) {
  OrderedJson result = open_result(version);
  result["tools"] = OrderedJson::array();
  for (const Tool& tool : tools) {
    if (may_call(role, tool)) {
      result["tools"].push_back(tool_entry(tool, version));
    }
  }
  allow_caching(result, version);
  close_result(result, version);
  return dump_json(result);
}

std::string error_text(std::string_view tool_name, const ToolError& error) {
  if (!error.verbatim.empty()) {
    return error.verbatim;
  }
  std::string text(tool_name);
  text += ": " + error.code + ": ";
  add_sentence(text, error.message);
  if (!error.hint.empty()) {
    text += ' ';
    add_sentence(text, error.hint);
  }
  return text;
}

RenderedResult render_tool_result(std::string_view tool_name, const ToolResult& result,
                                  Version version) {
  if (result.error) {
    return {.json = dump_json(error_result(tool_name, *result.error, version)),
            .failed = true,
            .code = result.error->code};
  }
  RenderedResult rendered{
      .json = dump_json(success_result(result, version)), .failed = false, .code = {}};
  if (rendered.json.size() <= kMaxResultBytes) {
    return rendered;
  }
  return render_tool_result(
      tool_name,
      tool_failure("TOO_LARGE",
                   "the call was carried out, but its encoded result has " +
                       std::to_string(rendered.json.size()) + " bytes; at most " +
                       std::to_string(kMaxResultBytes) + " fit into one reply",
                   "Ask for less at a time"),
      version);
}

RenderedResult render_method_reply(const Method& method, MethodReply reply, Version version) {
  if (reply.failure) {
    return {.json = {},
            .failed = true,
            .code = std::to_string(reply.failure->code),
            .rpc = std::move(reply.failure)};
  }
  OrderedJson result = open_result(version);
  result.update(reply.result);  // a handler may say what kind of result it is
  if (method.cacheable) {
    allow_caching(result, version, method.ttl_ms);
  }
  close_result(result, version);
  RenderedResult rendered{.json = dump_json(result), .failed = false, .code = {}};
  if (rendered.json.size() > kMaxResultBytes) {
    return render_method_failure("TOO_LARGE",
                                 "the encoded result has " + std::to_string(rendered.json.size()) +
                                     " bytes; at most " + std::to_string(kMaxResultBytes) +
                                     " fit into one reply");
  }
  return rendered;
}

RenderedResult render_method_failure(std::string code, std::string_view message) {
  const int number = code == "INVALID_ARGUMENT" ? rpc::kInvalidParams : rpc::kInternalError;
  std::string text = code + ": " + std::string(message);
  return {.json = {},
          .failed = true,
          .code = std::move(code),
          .rpc = RpcFailure{.code = number, .message = std::move(text), .data = {}}};
}

}  // namespace agentbox::mcp
