// pure: the part of session.h that follows a call from its start to its end.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <utility>

#include "agentbox/limits.h"
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

record::ToolCalled describe_call(const Tool& tool, const Json& given) {
  const std::string arguments = dump_json(given);
  record::ToolCalled record;
  record.tool = tool.name;
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

}  // namespace

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
        call.progress =
            Progress{.token_json = std::move(id->json), .value = {}, .sent = context.now};
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
  out.push_back(progress_line(progress.token_json, value,
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
    out.push_back(progress_line(progress.token_json, *progress.value,
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
      out.emplace_back(SendRecord{std::move(record)});
    }
    return out;
  }
  by_id_.erase(call.id);
  record.outcome = result.failed ? "error" : "ok";
  record.code = result.code;
  out.emplace_back(SendRecord{record});
  log_call(call, result, out);
  reply(call.batch, call.id.json, result_line(call.id.json, result.json), out);
  if (auto* line = std::get_if<SendLine>(&out.back()); line != nullptr && !call.batch) {
    line->reply_to = call.id.json;
  }
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
  if (listens_.erase(*id) > 0) {
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
  const auto failure = tool_failure("SHUTTING_DOWN", "the session ended before the call did",
                                    "Connect again and look at what the call left behind");
  for (auto& [id, key] : std::exchange(by_id_, {})) {
    Call& call = calls_.at(key);
    call.answered = true;
    call.record.outcome = "error";
    call.record.code = "SHUTTING_DOWN";
    call.record.duration_us = microseconds_between(call.started, now);
    out.emplace_back(CancelCall{key});
    out.emplace_back(SendRecord{call.record});
    const auto rendered = render_tool_result(call.tool->name, failure, call.version);
    reply(call.batch, id.json, result_line(id.json, rendered.json), out);
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

}  // namespace agentbox::mcp
