// pure: the part of session.h that follows a call from its start to its end.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <utility>

#include "agentbox/limits.h"
#include "agentbox/outcome.h"
#include "agentbox/session.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

// A call of an hour has 360 heartbeats: together they stay below one byte.
constexpr double kHeartbeatStep = 0.001;

// Counts of bytes are whole numbers and look like it.
std::string number_json(double value) {
  const bool whole = std::trunc(value) == value && std::abs(value) < 0x1p53;
  return dump_json(whole ? Json(static_cast<std::int64_t>(value)) : Json(value));
}

std::string escaped_path(std::string_view path) {
  return escape_text(path, record::kMaxTextBytes / 2);
}

record::ToolCalled describe_call(std::string_view name, const Json& given) {
  const std::string arguments = dump_json(given);
  record::ToolCalled record;
  record.tool = name;
  record.arguments_bytes = arguments.size();
  record.arguments_sha256 = sha256_hex(arguments);
  return record;
}

// The token is put in as the text it came as: type and value are the client's.
SendLine progress_line(const std::string& token_json, double value, std::string_view message) {
  std::string line = R"({"jsonrpc":"2.0","method":"notifications/progress","params":{)";
  line += R"("progressToken":)" + token_json;
  line += R"(,"progress":)" + number_json(value);
  if (!message.empty()) {
    line += R"(,"message":)" + dump_json(Json(cut_text(message, kMaxProgressMessageBytes)));
  }
  return SendLine{.line = line + "}}", .droppable = true};
}

std::uint64_t microseconds_between(TimePoint start, TimePoint end) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(end - start).count());
}

// Of a tool a failure is a result, of a method an error, and so it is where a client asked for a
// task and for nothing else.
RenderedResult render_failure(const Tool* tool, const Method* method, const ToolError& failure,
                              Version version) {
  if (tool != nullptr && (method == nullptr || features(version).modern)) {
    return render_tool_result(tool->name, failed(failure), version);
  }
  return render_method_failure(failure.code, failure.message);
}

std::string reply_line(std::string_view id_json, const RenderedResult& result) {
  return result.rpc ? error_line(id_json, result.rpc->code, result.rpc->message, result.rpc->data)
                    : result_line(id_json, result.json);
}

}  // namespace

Session::Call Session::call_of(const Request& request, const Context& context,
                               std::string_view name, const Json& given) {
  return {.version = context.version,
          .id = request.id,
          .batch = context.batch,
          .progress = {},
          .log_level = context.log_level,
          .started = context.now,
          .record = describe_call(name, given)};
}

std::optional<ToolError> Session::refusal(const Call& call) const {
  if ((call.tool != nullptr && !may_call(role_, *call.tool)) ||
      (call.method != nullptr && !may_ask(role_, *call.method))) {
    const bool admins = call.tool != nullptr && call.tool->tier == Tier::kAdmin;
    return ToolError{
        .code = "FORBIDDEN",
        .message = "the key of this session has the role " + std::string(role_name(role_)) +
                   (admins ? ", and this is for the role admin alone"
                           : ", which may call read-only tools only"),
        .hint = admins ? "Use a key with the role admin" : "Use a key with the role agent"};
  }
  if (refusing_) {
    return ToolError{.code = "SHUTTING_DOWN",
                     .message = "this session is ending and starts no new calls",
                     .hint = "Connect again and repeat the call"};
  }
  if (calls_.size() >= kMaxCallsRunning + kMaxCallsQueued) {
    return ToolError{.code = "RATE_LIMITED",
                     .message = std::to_string(kMaxCallsRunning) + " calls run and " +
                                std::to_string(kMaxCallsQueued) + " wait in this session",
                     .hint = "Wait for replies, then repeat the call"};
  }
  return std::nullopt;
}

void Session::start_call(const Request& request, const Tool& tool, const Json& given,
                         const Context& context, Actions& out) {
  const TaskWish wish = task_wish(request.params, context.version);
  StartCall start{.tool = &tool, .method = task_method(tool, wish, context)};
  if (wish == TaskWish::kAsked && start.method == nullptr) {
    reply_error(context, request.id.json, rpc::kMethodNotFound,
                "Method not found: " + std::string(tool.name) + " can't be called as a task", out);
    return;
  }
  auto arguments = read_arguments(tool.arguments, given);
  std::optional<ToolError> failure;
  if (start.method != nullptr) {
    start.params = request.params;
  }
  if (arguments.ok()) {
    start.arguments = std::move(arguments).value();
  } else {
    failure = ToolError{.code = "INVALID_ARGUMENT", .message = arguments.error().what};
  }
  begin(request, call_of(request, context, tool.name, given), std::move(start), std::move(failure),
        out);
}

const Method* Session::task_method(const Tool& tool, TaskWish wish, const Context& context) const {
  const Method* method = find_method(methods_, "tools/call", features(context.version).modern);
  return wish == TaskWish::kNone || !tool.may_be_task ? nullptr : method;
}

void Session::start_method(const Request& request, const Method& method, const Context& context,
                           Actions& out) {
  begin(request, call_of(request, context, method.name, request.params),
        StartCall{.method = &method,
                  .params = request.params,
                  .history = method.wants_history ? history_ : CallHistory()},
        {}, out);
}

void Session::begin(const Request& request, Call call, StartCall start,
                    std::optional<ToolError> failure, Actions& out) {
  call.tool = start.tool;
  call.method = start.method;
  if (auto refused = refusal(call)) {
    failure = std::move(refused);
  }
  const CallKey key = ++last_key_;
  if (const Json* envelope = find_envelope(request.params)) {
    if (const Json* token = find_member(*envelope, "progressToken")) {
      if (auto id = read_id(*token)) {
        call.progress =
            Progress{.token_json = std::move(id->json), .value = {}, .sent = call.started};
      }
    }
  }
  start.key = key;
  start.role = role_;
  start.version = call.version;
  start.wants_progress = call.progress.has_value();
  const TimePoint now = call.started;
  const Version version = call.version;
  by_id_.emplace(request.id, key);
  calls_.emplace(key, std::move(call));
  if (failure) {
    auto done =
        on_call_done(key, render_failure(start.tool, start.method, *failure, version), {}, now);
    std::move(done.begin(), done.end(), std::back_inserter(out));
    return;
  }
  out.emplace_back(std::move(start));
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
  out.emplace_back(progress_line(progress.token_json, value,
                                 features(at->second.version).progress_message ? message : ""));
  return out;
}

std::optional<TimePoint> Session::next_heartbeat() const {
  std::optional<TimePoint> next;
  for (const auto& [key, call] : calls_) {
    if (!call.answered && call.progress) {
      const TimePoint due = call.progress->sent + kProgressHeartbeat;
      next = next ? std::min(*next, due) : due;
    }
  }
  return next;
}

Actions Session::heartbeats(TimePoint now) {
  Actions out;
  for (auto& [key, call] : calls_) {
    if (call.answered || !call.progress || now - call.progress->sent < kProgressHeartbeat) {
      continue;
    }
    Progress& progress = *call.progress;
    progress.value = progress.value ? *progress.value + kHeartbeatStep : 0;
    progress.sent = now;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - call.started);
    out.emplace_back(progress_line(progress.token_json, *progress.value,
                                   features(call.version).progress_message
                                       ? "running for " + std::to_string(seconds.count()) + " s"
                                       : ""));
  }
  return out;
}

Actions Session::on_call_done(CallKey key, const RenderedResult& result, const CallFacts& facts,
                              TimePoint now) {
  Actions out;
  const auto at = calls_.find(key);
  if (at == calls_.end()) {
    return out;
  }
  Call call = std::move(at->second);
  calls_.erase(at);
  record::ToolCalled& record = call.record;
  record.duration_us = microseconds_between(call.started, now);
  record.path = escaped_path(facts.path);
  record.bytes_in = facts.bytes_in;
  record.bytes_out = facts.bytes_out;
  record.has_exit_code = facts.exit_code.has_value();
  record.exit_code = facts.exit_code.value_or(0);
  if (call.answered) {
    if (record.outcome.empty()) {
      record.outcome = "cancelled";
      tell_door(std::move(record), now, out);
    }
    return out;
  }
  by_id_.erase(call.id);
  record.outcome = result.failed ? "error" : "ok";
  record.code = result.code;
  tell_door(record, now, out);
  log_call(call, result, out);
  reply(call.batch, call.id.json, reply_line(call.id.json, result), out);
  if (auto* line = std::get_if<SendLine>(&out.back()); line != nullptr && !call.batch) {
    line->reply_to = call.id.json;
  }
  return out;
}

void Session::tell_door(record::ToolCalled record, TimePoint now, Actions& out) {
  history_.add(record, now);
  out.emplace_back(SendRecord{std::move(record)});
}

void Session::log_call(const Call& call, const RenderedResult& result, Actions& out) const {
  // "notifications/message only for a request that carried logLevel" (2026-07-28).
  const bool modern = features(call.version).modern;
  const auto threshold = modern ? call.log_level : std::optional(log_level_);
  if (!threshold || *threshold > LogLevel::kInfo) {
    return;
  }
  OrderedJson data = {{"event", "tool_call"},
                      {"tool", call.record.tool},
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
  if (cancel_subscription(*id, out)) {
    return;
  }
  const auto at = by_id_.find(*id);
  if (at == by_id_.end()) {
    out.emplace_back(WithdrawReply{id->json});
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
  const ToolError failure{.code = "SHUTTING_DOWN",
                          .message = "the session ended before the call did",
                          .hint = "Connect again and look at what the call left behind"};
  for (auto& [id, key] : std::exchange(by_id_, {})) {
    Call& call = calls_.at(key);
    call.answered = true;
    call.record.outcome = "error";
    call.record.code = "SHUTTING_DOWN";
    call.record.duration_us = microseconds_between(call.started, now);
    out.emplace_back(CancelCall{key});
    tell_door(call.record, now, out);
    reply(call.batch, id.json,
          reply_line(id.json, render_failure(call.tool, call.method, failure, call.version)), out);
  }
  for (const auto& [id, opening] : std::exchange(openings_, {})) {
    answer_opening(id, opening, false, out);
  }
  return out;
}

Actions Session::cancel_calls() {
  Actions out;
  for (const auto& [id, key] : std::exchange(by_id_, {})) {
    calls_.at(key).answered = true;
    out.emplace_back(CancelCall{key});
  }
  openings_.clear();
  return out;
}

}  // namespace agentbox::mcp
