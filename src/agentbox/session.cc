// pure: see session.h.
#include "agentbox/session.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "agentbox/limits.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

constexpr std::size_t kMaxShownBytes = 128;

const Json* find_envelope(const Json& params) {
  const Json* envelope = find_member(params, "_meta");
  return envelope != nullptr && envelope->is_object() ? envelope : nullptr;
}

bool is_modern(const Request& request) {
  const Json* envelope = find_envelope(request.params);
  return request.method != "initialize" && envelope != nullptr &&
         envelope->contains(std::string(meta::kProtocolVersion));
}

std::string cut_text(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) {
    return std::string(text);
  }
  const std::string_view head = text.substr(0, limit);
  // At most 3 bytes of a cut character; text that is invalid earlier on is repaired by the dump.
  const std::size_t whole = valid_utf8_prefix(head);
  return std::string(limit - whole < 4 ? head.substr(0, whole) : head);
}

// Counts of bytes are whole numbers and look like it.
std::string number_json(double value) {
  const bool whole = std::trunc(value) == value && std::abs(value) < 0x1p53;
  return dump_json(whole ? Json(static_cast<std::int64_t>(value)) : Json(value));
}

std::string escaped_path(std::string_view path) {
  return escape_text(path, record::kMaxTextBytes / 2);
}

record::ToolCalled describe_call(const Tool& tool, const Json& given) {
  const std::string arguments = dump_json(given);
  record::ToolCalled record;
  record.tool = tool.name;
  record.arguments_bytes = arguments.size();
  record.arguments_sha256 = sha256_hex(arguments);
  return record;
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
    reply_error(context, "null", rpc::kParseError, "Parse error: " + value.error().what, out);
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

void Session::on_message(Message message, Context context, Actions& out) {
  if (auto* bad = std::get_if<BadMessage>(&message)) {
    if (context.batch) {
      ++batches_[*context.batch].open;
    }
    reply_error(context, bad->id_json, bad->code, bad->why, out);
    return;
  }
  greeted_ = true;
  if (auto* request = std::get_if<Request>(&message)) {
    if (context.batch) {
      ++batches_[*context.batch].open;
    }
    on_request(std::move(*request), context, out);
  } else if (const auto* notification = std::get_if<Notification>(&message)) {
    on_notification(*notification, out);
  }
}

void Session::on_request(Request request, Context context, Actions& out) {
  if (by_id_.contains(request.id)) {
    reply_error(context, request.id.json, rpc::kInvalidRequest,
                "Invalid Request: a request with this id is still running", out);
    return;
  }
  if (is_modern(request)) {
    if (open_envelope(request, *find_envelope(request.params), context, out)) {
      dispatch(std::move(request), context, out);
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
  dispatch(std::move(request), context, out);
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
  reply(context.batch, result_line(request.id.json, initialize_result(*version_)), out);
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

void Session::dispatch(Request request, const Context& context, Actions& out) {
  const bool modern = features(context.version).modern;
  if (request.method == "tools/call") {
    call_tool(request, context, out);
  } else if (request.method == "tools/list") {
    list_tools(request, context, out);
  } else if (!modern && request.method == "ping") {
    reply(context.batch, result_line(request.id.json, empty_result(context.version)), out);
  } else if (!modern && request.method == "logging/setLevel") {
    set_level(request, context, out);
  } else if (modern && request.method == "server/discover") {
    reply(context.batch, result_line(request.id.json, discover_result()), out);
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
  reply(context.batch,
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
  reply(context.batch, result_line(request.id.json, empty_result(context.version)), out);
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
  static const Json kNone = Json::object();
  const Json* given = find_member(request.params, "arguments");
  if (given == nullptr || given->is_null()) {
    given = &kNone;
  }
  if (!given->is_object()) {
    reply_error(context, request.id.json, rpc::kInvalidParams,
                "Invalid params: \"arguments\" must be an object", out);
    return;
  }
  start_call(request, *tool, *given, context, out);
}

std::optional<ToolResult> Session::refusal(const Tool& tool) const {
  if (!may_call(role_, tool)) {
    return tool_failure("FORBIDDEN",
                        "the key of this session has the role " + std::string(role_name(role_)) +
                            ", which may call read-only tools only",
                        "Use a key with the role agent");
  }
  if (refusing_) {
    return tool_failure("SHUTTING_DOWN", "this session is ending and starts no new calls",
                        "Connect again and repeat the call");
  }
  if (calls_.size() >= kMaxCallsRunning + kMaxCallsQueued) {
    return tool_failure("RATE_LIMITED",
                        std::to_string(kMaxCallsRunning) + " calls run and " +
                            std::to_string(kMaxCallsQueued) + " wait in this session",
                        "Wait for replies, then repeat the call");
  }
  return std::nullopt;
}

void Session::start_call(const Request& request, const Tool& tool, const Json& given,
                         const Context& context, Actions& out) {
  Call call{.tool = &tool,
            .version = context.version,
            .id = request.id,
            .batch = context.batch,
            .progress = {},
            .log_level = context.log_level,
            .started = context.now,
            .record = describe_call(tool, given),
            .answered = false};
  auto failure = refusal(tool);
  auto arguments = read_arguments(tool.arguments, given);
  if (!failure && !arguments.ok()) {
    failure = tool_failure("INVALID_ARGUMENT", arguments.error().what);
  }
  const CallKey key = ++last_key_;
  if (const Json* envelope = find_envelope(request.params)) {
    if (const Json* token = find_member(*envelope, "progressToken")) {
      if (auto id = read_id(*token)) {
        call.progress = Progress{.token_json = std::move(id->json), .value = {}, .sent = {}};
      }
    }
  }
  const bool wants_progress = call.progress.has_value();
  by_id_.emplace(request.id, key);
  calls_.emplace(key, std::move(call));
  if (failure) {
    auto done = on_call_done(key, render_tool_result(tool.name, *failure, context.version), {},
                             context.now);
    std::move(done.begin(), done.end(), std::back_inserter(out));
    return;
  }
  out.emplace_back(StartCall{.key = key,
                             .tool = &tool,
                             .arguments = std::move(arguments).value(),
                             .wants_progress = wants_progress,
                             .version = context.version});
}

Actions Session::on_progress(CallKey key, double value, std::string_view message, TimePoint now) {
  Actions out;
  const auto at = calls_.find(key);
  if (at == calls_.end() || at->second.answered || !at->second.progress) {
    return out;
  }
  Progress& progress = *at->second.progress;
  if (progress.value && (value <= *progress.value || now - progress.sent < kProgressInterval)) {
    return out;
  }
  progress.value = value;
  progress.sent = now;
  // The token is put in as the text it came as: type and value are the client's.
  std::string line = R"({"jsonrpc":"2.0","method":"notifications/progress","params":{)";
  line += R"("progressToken":)" + progress.token_json;
  line += R"(,"progress":)" + number_json(value);
  if (!message.empty() && features(at->second.version).progress_message) {
    line += R"(,"message":)" + dump_json(Json(cut_text(message, kMaxProgressMessageBytes)));
  }
  out.emplace_back(SendLine{.line = line + "}}", .droppable = true});
  return out;
}

Actions Session::on_call_done(CallKey key, RenderedResult result, const CallFacts& facts,
                              TimePoint now) {
  Actions out;
  const auto at = calls_.find(key);
  if (at == calls_.end()) {
    return out;
  }
  Call call = std::move(at->second);
  calls_.erase(at);
  record::ToolCalled& record = call.record;
  record.duration_us = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(now - call.started).count());
  record.path = escaped_path(facts.path);
  record.bytes_in = facts.bytes_in;
  record.bytes_out = facts.bytes_out;
  record.has_exit_code = facts.exit_code.has_value();
  record.exit_code = facts.exit_code.value_or(0);
  if (call.answered) {
    if (record.outcome.empty()) {
      record.outcome = "cancelled";
      out.emplace_back(SendRecord{std::move(record)});
    }
    return out;
  }
  by_id_.erase(call.id);
  record.outcome = result.failed ? "error" : "ok";
  record.code = result.code;
  out.emplace_back(SendRecord{record});
  log_call(call, result, out);
  reply(call.batch, result_line(call.id.json, result.json), out);
  return out;
}

void Session::log_call(const Call& call, const RenderedResult& result, Actions& out) const {
  // "notifications/message only for a request that carried logLevel" (2026-07-28).
  const bool modern = features(call.version).modern;
  const auto threshold = modern ? call.log_level : std::optional(log_level_);
  if (!threshold || *threshold > LogLevel::kInfo) {
    return;
  }
  OrderedJson data = {{"event", "tool_call"},
                      {"tool", call.tool->name},
                      {"outcome", call.record.outcome},
                      {"duration_ms", call.record.duration_us / 1000}};
  if (result.failed) {
    data["code"] = result.code;
  }
  out.emplace_back(SendLine{.line = notification_line("notifications/message",
                                                      {{"level", log_level_name(LogLevel::kInfo)},
                                                       {"logger", "agent-box"},
                                                       {"data", std::move(data)}}),
                            .droppable = true});
}

void Session::on_notification(const Notification& notification, Actions& out) {
  if (notification.method != "notifications/cancelled") {
    return;
  }
  const Json* id_value = find_member(notification.params, "requestId");
  const auto id = id_value == nullptr ? std::nullopt : read_id(*id_value);
  if (!id) {
    return;
  }
  const auto at = by_id_.find(*id);
  if (at == by_id_.end()) {
    return;
  }
  const CallKey key = at->second;
  by_id_.erase(at);
  Call& call = calls_.at(key);
  call.answered = true;
  out.emplace_back(CancelCall{key});
  if (call.batch) {
    close_batch_item(*call.batch, out);
  }
}

Actions Session::abandon_calls(TimePoint now) {
  Actions out;
  const auto failure = tool_failure("SHUTTING_DOWN", "the session ended before the call did",
                                    "Connect again and look at what the call left behind");
  for (auto& [id, key] : std::exchange(by_id_, {})) {
    Call& call = calls_.at(key);
    call.answered = true;
    call.record.outcome = "error";
    call.record.code = "SHUTTING_DOWN";
    call.record.duration_us = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(now - call.started).count());
    out.emplace_back(CancelCall{key});
    out.emplace_back(SendRecord{call.record});
    const auto rendered = render_tool_result(call.tool->name, failure, call.version);
    reply(call.batch, result_line(id.json, rendered.json), out);
  }
  return out;
}

Actions Session::cancel_calls() {
  Actions out;
  for (const auto& [id, key] : std::exchange(by_id_, {})) {
    calls_.at(key).answered = true;
    out.emplace_back(CancelCall{key});
  }
  return out;
}

void Session::reply(const std::optional<std::uint64_t>& batch, std::string line, Actions& out) {
  if (!batch) {
    out.emplace_back(SendLine{.line = std::move(line)});
    return;
  }
  Batch& collected = batches_.at(*batch);
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
  reply(context.batch, error_line(id_json, code, message, data), out);
}

}  // namespace agentbox::mcp
