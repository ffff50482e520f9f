// pure: see session.h.
#include "agentbox/session.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "agentbox/instructions.h"
#include "agentbox/limits.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

// Of what a client sent, at most this much goes back in an error.
constexpr std::size_t kMaxShownBytes = 128;
// The parser's words may quote a whole string of the input.
constexpr std::size_t kMaxParseErrorBytes = 256;

bool is_modern(const Request& request) {
  const Json* envelope = find_envelope(request.params);
  return request.method != "initialize" && envelope != nullptr &&
         envelope->contains(std::string(meta::kProtocolVersion));
}

}  // namespace

Actions Session::on_line(const Line& line, TimePoint now) {
  Actions out;
  const Context context{
      .version = version_.value_or(Version::k2025_11_25), .log_level = {}, .batch = {}, .now = now};
  if (line.too_long) {
    reply_error(context, "null", rpc::kInvalidRequest,
                "Invalid Request: the line is longer than " + std::to_string(kMaxLineInBytes) +
                    " bytes and was discarded; send less at a time",
                out);
    return out;
  }
  auto value = parse_json(line.text);
  if (!value.ok()) {
    reply_error(context, "null", rpc::kParseError,
                "Parse error: " + cut_text(value.error().what, kMaxParseErrorBytes), out);
    return out;
  }
  if (value->is_array()) {
    on_batch(*value, now, out);
    return out;
  }
  on_message(read_message(std::move(value).value()), context, out);
  return out;
}

void Session::on_batch(const Json& batch, TimePoint now, Actions& out) {
  const Context single{
      .version = version_.value_or(Version::k2025_11_25), .log_level = {}, .batch = {}, .now = now};
  if (!version_ || !features(*version_).batches) {
    reply_error(single, "null", rpc::kInvalidRequest,
                "Invalid Request: batches exist in protocol version 2025-03-26 only", out);
    return;
  }
  if (batch.empty() || batch.size() > kMaxBatchItems) {
    reply_error(
        single, "null", rpc::kInvalidRequest,
        "Invalid Request: a batch holds 1 to " + std::to_string(kMaxBatchItems) + " messages", out);
    return;
  }
  const std::uint64_t key = ++last_batch_;
  // One more than the elements, so that the reply waits for the last of them.
  batches_[key].open = 1;
  for (const Json& item : batch) {
    Context context = single;
    context.batch = key;
    on_message(read_message(item), context, out);
  }
  close_batch_item(key, out);
}

void Session::on_message(const Message& message, const Context& context, Actions& out) {
  if (const auto* bad = std::get_if<BadMessage>(&message)) {
    if (context.batch) {
      ++batches_[*context.batch].open;
    }
    reply_error(context, bad->id_json, bad->code, bad->why, out);
    return;
  }
  greeted_ = true;
  if (const auto* request = std::get_if<Request>(&message)) {
    if (context.batch) {
      ++batches_[*context.batch].open;
    }
    on_request(*request, context, out);
  } else if (const auto* notification = std::get_if<Notification>(&message)) {
    on_notification(*notification, out);
  }
}

void Session::on_request(const Request& request, Context context, Actions& out) {
  if (by_id_.contains(request.id) || listens_.contains(request.id) ||
      openings_.contains(request.id)) {
    reply_error(context, request.id.json, rpc::kInvalidRequest,
                "Invalid Request: a request with this id is still running", out);
    return;
  }
  if (is_modern(request)) {
    if (open_envelope(request, *find_envelope(request.params), context, out)) {
      dispatch(request, context, out);
    }
    return;
  }
  if (request.method == "initialize") {
    initialize(request, context, out);
    return;
  }
  if (!version_ && request.method != "ping") {
    reply_error(context, request.id.json, rpc::kInvalidParams,
                "Invalid params: missing _meta \"" + std::string(meta::kProtocolVersion) +
                    "\"; send initialize first, or a request of protocol version 2026-07-28",
                out);
    return;
  }
  dispatch(request, context, out);
}

void Session::initialize(const Request& request, const Context& context, Actions& out) {
  if (context.batch) {
    reply_error(context, request.id.json, rpc::kInvalidRequest,
                "Invalid Request: initialize can't be part of a batch", out);
    return;
  }
  const std::string* wanted = find_string(request.params, "protocolVersion");
  if (wanted == nullptr) {
    reply_error(context, request.id.json, rpc::kInvalidParams,
                "Invalid params: \"protocolVersion\" must be a string", out);
    return;
  }
  version_ = negotiate(*wanted);
  log_level_ = LogLevel::kWarning;
  forget_subscriptions(out);
  reply(context.batch, request.id.json,
        result_line(request.id.json,
                    initialize_result(*version_, methods_, instructions(tools_, role_))),
        out);
}

bool Session::open_envelope(const Request& request, const Json& envelope, Context& context,
                            Actions& out) {
  const std::string* name = find_string(envelope, meta::kProtocolVersion);
  if (name == nullptr) {
    reply_error(
        context, request.id.json, rpc::kInvalidParams,
        "Invalid params: _meta \"" + std::string(meta::kProtocolVersion) + "\" must be a string",
        out);
    return false;
  }
  const auto version = find_modern(*name);
  if (!version) {
    OrderedJson supported = OrderedJson::array();
    for (const Version one : all_versions()) {
      supported.push_back(features(one).name);
    }
    reply_error(context, request.id.json, rpc::kUnsupportedVersion, "Unsupported protocol version",
                out, {{"supported", supported}, {"requested", cut_text(*name, kMaxShownBytes)}});
    return false;
  }
  const Json* abilities = find_member(envelope, meta::kClientCapabilities);
  if (abilities == nullptr || !abilities->is_object()) {
    reply_error(context, request.id.json, rpc::kInvalidParams,
                "Invalid params: _meta \"" + std::string(meta::kClientCapabilities) +
                    "\" must be an object",
                out);
    return false;
  }
  if (const Json* level = find_member(envelope, meta::kLogLevel)) {
    const auto* text = level->get_ptr<const std::string*>();
    context.log_level = text == nullptr ? std::nullopt : find_log_level(*text);
    if (!context.log_level) {
      reply_error(context, request.id.json, rpc::kInvalidParams,
                  "Invalid params: _meta \"" + std::string(meta::kLogLevel) +
                      "\" must be one of the eight log levels, debug to emergency",
                  out);
      return false;
    }
  }
  context.version = *version;
  return true;
}

void Session::dispatch(const Request& request, const Context& context, Actions& out) {
  const bool modern = features(context.version).modern;
  if (request.method == "tools/call") {
    call_tool(request, context, out);
  } else if (request.method == "tools/list") {
    list_tools(request, context, out);
  } else if (!modern && request.method == "ping") {
    reply(context.batch, request.id.json,
          result_line(request.id.json, empty_result(context.version)), out);
  } else if (!modern && request.method == "logging/setLevel") {
    set_level(request, context, out);
  } else if (modern && request.method == "subscriptions/listen") {
    listen(request, context, out);
  } else if (!modern && has_resources() && request.method == "resources/subscribe") {
    subscribe(request, context, out);
  } else if (!modern && has_resources() && request.method == "resources/unsubscribe") {
    unsubscribe(request, context, out);
  } else if (modern && request.method == "server/discover") {
    reply(context.batch, request.id.json,
          result_line(request.id.json, discover_result(methods_, instructions(tools_, role_))),
          out);
  } else if (const Method* method = find_method(methods_, request.method, modern)) {
    if (!modern && method->name == "resources/list") {
      // Only who has a list can have one that is out of date.
      Subscriptions::Orders orders;
      subscriptions_.add({}, kResourceList, orders);
      follow(std::move(orders), out);
    }
    start_method(request, *method, context, out);
  } else {
    reply_error(context, request.id.json, rpc::kMethodNotFound,
                "Method not found: " + cut_text(request.method, kMaxShownBytes), out);
  }
}

void Session::list_tools(const Request& request, const Context& context, Actions& out) {
  // All tools fit on one page, so no cursor was ever given out.
  const Json* cursor = find_member(request.params, "cursor");
  if (cursor != nullptr && !cursor->is_null()) {
    reply_error(context, request.id.json, rpc::kInvalidParams,
                "Invalid params: unknown cursor; list again without one", out);
    return;
  }
  reply(context.batch, request.id.json,
        result_line(request.id.json, tools_list_result(tools_, role_, context.version)), out);
}

void Session::set_level(const Request& request, const Context& context, Actions& out) {
  const std::string* name = find_string(request.params, "level");
  const auto level = name == nullptr ? std::nullopt : find_log_level(*name);
  if (!level) {
    reply_error(context, request.id.json, rpc::kInvalidParams,
                "Invalid params: \"level\" must be one of the eight log levels, debug to emergency",
                out);
    return;
  }
  log_level_ = *level;
  reply(context.batch, request.id.json, result_line(request.id.json, empty_result(context.version)),
        out);
}

void Session::call_tool(const Request& request, const Context& context, Actions& out) {
  const std::string* name = find_string(request.params, "name");
  if (name == nullptr) {
    reply_error(context, request.id.json, rpc::kInvalidParams,
                "Invalid params: \"name\" must be a string, the name of a tool", out);
    return;
  }
  const auto tool = std::find_if(tools_.begin(), tools_.end(),
                                 [&](const Tool& one) { return one.name == *name; });
  if (tool == tools_.end()) {
    reply_error(context, request.id.json, rpc::kInvalidParams,
                "Unknown tool: " + cut_text(*name, kMaxShownBytes), out);
    return;
  }
  static const Json none = Json::object();
  const Json* given = find_member(request.params, "arguments");
  if (given == nullptr || given->is_null()) {
    given = &none;
  }
  if (!given->is_object()) {
    reply_error(context, request.id.json, rpc::kInvalidParams,
                "Invalid params: \"arguments\" must be an object", out);
    return;
  }
  start_call(request, *tool, *given, context, out);
}

void Session::reply(const std::optional<std::uint64_t>& batch, std::string_view id_json,
                    std::string line, Actions& out) {
  if (!batch) {
    out.emplace_back(SendLine{.line = std::move(line)});
    return;
  }
  Batch& collected = batches_.at(*batch);
  if (collected.replies.size() + line.size() > kMaxBatchResultBytes) {
    line = error_line(id_json, rpc::kInternalError,
                      "Internal error: the result does not fit into the one line of its batch; "
                      "send this request by itself");
  }
  if (!collected.replies.empty()) {
    collected.replies += ',';
  }
  collected.replies += line;
  close_batch_item(*batch, out);
}

void Session::close_batch_item(std::uint64_t batch, Actions& out) {
  const auto at = batches_.find(batch);
  if (--at->second.open > 0) {
    return;
  }
  // "nothing at all if only notifications"
  if (!at->second.replies.empty()) {
    out.emplace_back(SendLine{.line = "[" + at->second.replies + "]"});
  }
  batches_.erase(at);
}

void Session::reply_error(const Context& context, std::string_view id_json, int code,
                          std::string_view message, Actions& out, const OrderedJson& data) {
  reply(context.batch, id_json, error_line(id_json, code, message, data), out);
}

}  // namespace agentbox::mcp
