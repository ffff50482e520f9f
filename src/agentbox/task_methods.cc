// edge: see task_methods.h.
#include "agentbox/task_methods.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "agentbox/jsonrpc.h"
#include "agentbox/page_cursor.h"
#include "agentbox/task_wishes.h"
#include "agentbox/tasks.h"
#include "agentbox/timestamps.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A client of the extension that has its result by then never hears of a task.
constexpr seconds kThreshold{20};
// How often a client should ask.
constexpr int kPollMs = 1000;
// While a client waits for a result, between two looks at whether its call still runs.
constexpr milliseconds kWaitTurn{60'000};
// Of one reply.
constexpr std::size_t kTasksAPage = 100;
// What its cursors are of.
constexpr std::string_view kTaskList = "tasks";

std::string_view status_name(TaskStatus status) {
  switch (status) {
    case TaskStatus::kWorking:
      return "working";
    case TaskStatus::kCompleted:
      return "completed";
    case TaskStatus::kFailed:
      return "failed";
    case TaskStatus::kCancelled:
      return "cancelled";
  }
  return "";
}

std::string time_text(std::int64_t ms) { return timestamp_seconds(ms / 1000); }

// Of the core dialect a call whose result is an error has failed; of the extension it is complete.
std::string_view shown_status(const Task& task, bool modern) {
  const bool failed = !modern && task.status == TaskStatus::kCompleted && task.is_error;
  return status_name(failed ? TaskStatus::kFailed : task.status);
}

OrderedJson task_json(const Task& task, Version version) {
  const bool modern = features(version).modern;
  OrderedJson json = {{"taskId", task.id}, {"status", shown_status(task, modern)}};
  if (!task.message.empty()) {
    json["statusMessage"] = task.message;
  }
  json["createdAt"] = time_text(task.record.created_ms);
  json["lastUpdatedAt"] = time_text(task.updated_ms);
  json[modern ? "ttlMs" : "ttl"] = task.record.ttl_ms;
  json[modern ? "pollIntervalMs" : "pollInterval"] = kPollMs;
  return json;
}

MethodReply invalid(std::string_view why) {
  return method_failure(rpc::kInvalidParams, "Invalid params: " + std::string(why));
}

MethodReply unknown_task() {
  return invalid("there is no such task; it was never one, or its time to live is over");
}

MethodReply failed_task(const Task& task) {
  const std::string why = !task.message.empty()                   ? task.message
                          : task.status == TaskStatus::kCancelled ? "it was cancelled"
                                                                  : "somebody removed it";
  return method_failure(rpc::kInternalError, "Internal error: the task has no result: " + why);
}

// The same error for a dialect that is not there as for a method that is not.
std::optional<MethodReply> refuse_dialect(const MethodCall& call, std::string_view method) {
  const VersionFeatures& has = features(call.version);
  if (!has.modern && !has.core_tasks) {
    return method_failure(rpc::kMethodNotFound, "Method not found: " + std::string(method));
  }
  if (has.modern && !declares_tasks(call.params)) {
    return method_failure(
        rpc::kMissingCapability,
        "Missing required client capability: extensions[\"" + std::string(meta::kTasksExtension) +
            "\"] in this request's _meta",
        {{"requiredCapabilities",
          {{"extensions", {{std::string(meta::kTasksExtension), OrderedJson::object()}}}}}});
  }
  return std::nullopt;
}

std::optional<Task> find_task(const MethodCall& call, const Tasks& tasks) {
  const std::string* id = find_string(call.params, "taskId");
  return id == nullptr ? std::nullopt : tasks.find(*id);
}

MethodReply get_task(const MethodCall& call, CallContext& context) {
  if (auto refused = refuse_dialect(call, "tasks/get")) {
    return *std::move(refused);
  }
  const Tasks tasks(context.box());
  const auto task = find_task(call, tasks);
  if (!task) {
    return unknown_task();
  }
  MethodReply reply{.result = task_json(*task, call.version)};
  if (!features(call.version).modern) {
    return reply;
  }
  const auto result =
      task->status == TaskStatus::kCompleted ? tasks.result_of(*task) : std::nullopt;
  if (result) {
    reply.result["result"] = {{"resultType", "complete"}};
    reply.result["result"].update(OrderedJson(*result));
  } else if (task->status == TaskStatus::kFailed || task->status == TaskStatus::kCompleted) {
    reply.result["status"] = status_name(TaskStatus::kFailed);  // somebody took its result away
    const auto failure = failed_task(*task).failure;
    reply.result["error"] = {{"code", failure->code}, {"message", failure->message}};
  }
  return reply;
}

MethodReply get_result(const MethodCall& call, CallContext& context) {
  if (auto refused = refuse_dialect(call, "tasks/result")) {
    return *std::move(refused);
  }
  const Tasks tasks(context.box());
  auto task = find_task(call, tasks);
  while (task && task->status == TaskStatus::kWorking && !context.cancelled()) {
    (void)tasks.wait(*task, kWaitTurn, context);
    task = tasks.find(task->id);
  }
  if (!task) {
    return unknown_task();
  }
  const auto result =
      task->status == TaskStatus::kCompleted ? tasks.result_of(*task) : std::nullopt;
  if (!result) {
    return failed_task(*task);
  }
  MethodReply reply{.result = OrderedJson(*result)};
  reply.result["_meta"][std::string(meta::kRelatedTask)] = {{"taskId", task->id}};
  return reply;
}

// Orders tasks as the list has them, and holds whatever comes and goes: digits of one width compare
// as numbers do.
std::string place_of(const Task& task) {
  std::string started = std::to_string(std::max<std::int64_t>(task.job.started_ms, 0));
  constexpr std::size_t kDigits = 19;
  started.insert(0, kDigits - std::min(kDigits, started.size()), '0');
  return started + task.id;
}

MethodReply list_tasks(const MethodCall& call, CallContext& context) {
  if (auto refused = refuse_dialect(call, "tasks/list")) {
    return *std::move(refused);
  }
  std::optional<std::string> after;
  if (const Json* cursor = find_member(call.params, "cursor"); cursor && !cursor->is_null()) {
    const std::string* text = find_string(call.params, "cursor");
    after = text == nullptr ? std::nullopt : read_page_cursor(kTaskList, *text);
    if (!after) {
      return invalid("unknown cursor; list again without one");
    }
  }
  const Tasks tasks(context.box());
  MethodReply reply;
  OrderedJson& page = reply.result["tasks"] = OrderedJson::array();
  std::optional<Task> last;
  for (Task& task : tasks.list()) {
    if (after && place_of(task) >= *after) {
      continue;
    }
    if (page.size() == kTasksAPage) {
      reply.result["nextCursor"] = make_page_cursor(kTaskList, place_of(*last));
      break;
    }
    page.push_back(task_json(task, call.version));
    last = std::move(task);
  }
  return reply;
}

MethodReply cancel_task(const MethodCall& call, CallContext& context) {
  if (auto refused = refuse_dialect(call, "tasks/cancel")) {
    return *std::move(refused);
  }
  const Tasks tasks(context.box());
  const auto task = find_task(call, tasks);
  if (!task) {
    return unknown_task();
  }
  const bool modern = features(call.version).modern;
  const bool cancelled = task->status == TaskStatus::kWorking && tasks.cancel(*task, context);
  if (modern) {
    return {};  // an acknowledgement, whatever has become of it
  }
  const auto now = tasks.find(task->id);
  if (!cancelled || !now) {
    return invalid("the task has ended already");
  }
  return {.result = task_json(*now, call.version)};
}

// No task of ours ever asks its client for anything.
MethodReply update_task(const MethodCall& call, CallContext& context) {
  if (auto refused = refuse_dialect(call, "tasks/update")) {
    return *std::move(refused);
  }
  return find_task(call, Tasks(context.box())) ? MethodReply{} : unknown_task();
}

// Nothing where it is no number of milliseconds.
std::optional<std::int64_t> wanted_ttl(const MethodCall& call) {
  const Json* task = features(call.version).modern ? nullptr : find_member(call.params, "task");
  const Json* ttl = task == nullptr ? nullptr : find_member(*task, "ttl");
  if (ttl == nullptr || ttl->is_null()) {
    return kTaskTtlMs;
  }
  if (!ttl->is_number() || ttl->get<double>() < 0) {
    return std::nullopt;
  }
  const double wanted = ttl->get<double>();
  return static_cast<std::int64_t>(
      std::clamp(wanted, static_cast<double>(kMinTaskTtlMs), static_cast<double>(kMaxTaskTtlMs)));
}

// A call that its client allows to be a task: one whose result comes soon enough is answered with
// that, and was none.
MethodReply finish_soon(const Task& task, const Tasks& tasks, Version version,
                        CallContext& context) {
  const bool over = tasks.wait(task, kThreshold, context);
  if (context.cancelled()) {
    (void)tasks.cancel(task, context);  // nobody has heard of it
    return {};
  }
  const auto now = tasks.find(task.id);
  const bool ended = over && now && now->status == TaskStatus::kCompleted;
  if (const auto result = ended ? tasks.result_of(*now) : std::nullopt) {
    tasks.remove(*now);
    return {.result = OrderedJson(*result)};
  }
  MethodReply reply{.result = {{"resultType", "task"}}};
  reply.result.update(task_json(now.value_or(task), version));
  return reply;
}

MethodReply call_as_task(const MethodCall& call, CallContext& context) {
  const Tasks tasks(context.box());
  const std::string* name = find_string(call.params, "name");
  const Json* given = find_member(call.params, "arguments");
  const Json none = Json::object();
  const auto ttl = wanted_ttl(call);
  if (!ttl) {
    return invalid("task.ttl is a number of milliseconds");
  }
  auto task = tasks.create(name == nullptr ? "" : *name,
                           given == nullptr || given->is_null() ? none : *given, *ttl, context);
  if (!task.ok()) {
    return method_failure(rpc::kInternalError, task.error().code + ": " + task.error().message);
  }
  if (features(call.version).modern) {
    return finish_soon(*task, tasks, call.version, context);
  }
  return {.result = {{"task", task_json(*task, call.version)}}};
}

}  // namespace

std::vector<Method> task_methods() {
  return {
      {.name = "tools/call", .read_only = true, .handler = call_as_task},
      {.name = "tasks/get", .handler = get_task},
      {.name = "tasks/result", .modern = false, .handler = get_result},
      {.name = "tasks/list", .modern = false, .handler = list_tasks},
      {.name = "tasks/cancel", .read_only = false, .handler = cancel_task},
      {.name = "tasks/update", .legacy = false, .handler = update_task},
  };
}

}  // namespace agentbox::mcp
