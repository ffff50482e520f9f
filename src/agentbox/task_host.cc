// edge: see task_host.h.
#include "agentbox/task_host.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "agentbox/call_pool.h"
#include "agentbox/hosted.h"
#include "agentbox/replies.h"
#include "agentbox/tasks.h"
#include "agentbox/tool_table.h"

namespace agentbox::mcp {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

// Who started us says what to do within this time, or is gone.
constexpr seconds kCallerTime{10};
// The one call there is.
constexpr CallKey kKey = 1;

struct TaskCall {
  TaskRecord record;
  const Tool* tool = nullptr;
  Arguments arguments = {};
};

// Nobody waits for the call by name, so it has no reason to hand back a process instead of a
// result.
void never_yield(const Tool& tool, Json& given) {
  const auto yield = std::find_if(tool.arguments.begin(), tool.arguments.end(),
                                  [](const Argument& one) { return one.name == "yield_seconds"; });
  if (yield != tool.arguments.end() && yield->maximum) {
    given["yield_seconds"] = *yield->maximum;
  }
}

Result<TaskCall> read_call(const Json& asked, const std::vector<Tool>& tools, Role role) {
  const std::string* name = find_string(asked, "tool");
  const auto tool = std::find_if(tools.begin(), tools.end(), [&](const Tool& one) {
    return name != nullptr && one.name == *name && one.may_be_task && may_call(role, one);
  });
  const Json* arguments = find_member(asked, "arguments");
  if (tool == tools.end() || arguments == nullptr || !arguments->is_object()) {
    return Error{Code::kInvalid, "there is no such tool for tasks"};
  }
  Json record = {{"tool", *name}};
  for (const char* const field : {"created_ms", "ttl_ms"}) {
    const Json* value = find_member(asked, field);
    record[field] = value == nullptr ? Json() : *value;
  }
  AB_TRY(kept, decode_task_record(dump_json(record)));
  Json given = *arguments;
  never_yield(*tool, given);
  AB_TRY(read, read_arguments(tool->arguments, given));
  return TaskCall{.record = std::move(kept), .tool = &*tool, .arguments = std::move(read)};
}

Result<UniqueFd> claim_end_signals() {
  sigset_t ends = {};
  static_cast<void>(::sigemptyset(&ends));
  static_cast<void>(::sigaddset(&ends, SIGTERM));
  static_cast<void>(::sigaddset(&ends, SIGINT));
  if (::pthread_sigmask(SIG_BLOCK, &ends, nullptr) != 0) {
    return errno_error("block signals");
  }
  UniqueFd signals(::signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.valid()) {
    return errno_error("signalfd");
  }
  return signals;
}

Result<TaskCall> take_call(const Hosted& hosted, const std::vector<Tool>& tools) {
  const auto deadline = steady_clock::now() + kCallerTime;
  if (!wait_readable(hosted.listener.get(), deadline)) {
    return Error{Code::kTimeout, "nobody said what to do"};
  }
  auto caller = accept_hosted(hosted);
  if (!caller) {
    return Error{Code::kUnavailable, "the caller went away"};
  }
  AB_TRY(asked, caller->receive(deadline));
  auto call = read_call(asked, tools, hosted.box->settings.role);
  const Status kept =
      call.ok() ? keep_task_record(hosted.folder.get(), call->record) : Status(call.error());
  AB_CHECK(caller->send(
      kept.ok() ? OrderedJson{{"accepted", true}} : OrderedJson{{"error", kept.error().what}},
      deadline));
  AB_CHECK(kept);
  return call;
}

// Until the call has ended; SIGTERM cancels it.
Result<RenderedResult> run_call(CallPool& calls, TaskCall call, int signals) {
  calls.add(StartCall{.key = kKey,
                      .tool = call.tool,
                      .arguments = std::move(call.arguments),
                      .version = Version::k2025_11_25});
  bool cancelled = false;
  for (;;) {
    calls.dispatch();
    std::array<pollfd, 2> ready{pollfd{.fd = calls.fd(), .events = POLLIN, .revents = 0},
                                pollfd{.fd = signals, .events = POLLIN, .revents = 0}};
    (void)::poll(ready.data(), ready.size(), -1);
    signalfd_siginfo told = {};
    while (::read(signals, &told, sizeof told) == sizeof told) {
      cancelled = true;
      calls.cancel(kKey);
    }
    for (CallEvent& event : calls.take_events()) {
      if (auto* end = std::get_if<CallEnd>(&event)) {
        if (cancelled) {
          return Error{Code::kUnavailable, "it was told to end"};
        }
        return std::move(end->result);
      }
    }
  }
}

Status host_task() {
  AB_TRY(signals, claim_end_signals());
  AB_TRY(hosted, open_hosted());
  const std::vector<Tool> tools = tools_of(hosted.box->settings.profile);
  AB_TRY(call, take_call(hosted, tools));
  AB_TRY(calls, CallPool::create(*hosted.box));
  AB_TRY(result, run_call(*calls, std::move(call), signals.get()));
  AB_CHECK(keep_task_result(hosted.folder.get(), result.json));
  AB_TRY(is_first, keep_task_end(hosted.folder.get(), encode_task_end(now_ms(), result.failed)));
  (void)is_first;  // cancelled in the last moment: that stands
  return {};
}

}  // namespace

int run_task_host() {
  const Status hosted = host_task();
  if (!hosted.ok()) {
    static_cast<void>(
        std::fprintf(stderr, "agent-box task-host: %s\n", hosted.error().what.c_str()));
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

}  // namespace agentbox::mcp
