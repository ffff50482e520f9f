// edge: see call_pool.h.
#include "agentbox/call_pool.h"

#include <pthread.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>

#include "agentbox/limits.h"

namespace agentbox::mcp {
namespace {

// std::thread has no way to say so; the default of this process is ours to set.
Status set_thread_stacks(std::size_t bytes) {
  pthread_attr_t attributes = {};
  int problem = ::pthread_attr_init(&attributes);
  if (problem == 0) {
    problem = ::pthread_attr_setstacksize(&attributes, bytes);
    if (problem == 0) {
      problem = ::pthread_setattr_default_np(&attributes);
    }
    static_cast<void>(::pthread_attr_destroy(&attributes));
  }
  return problem == 0 ? Status() : errno_error("set the stack size of threads", problem);
}

ToolResult run_handler(const Tool& tool, const Arguments& arguments, CallContext& context) {
  try {
    return tool.handler(arguments, context);
  } catch (const std::exception& problem) {
    // The last net: nothing of ours throws, but memory can run out below it.
    return tool_failure("INTERNAL", std::string("unexpected failure: ") + problem.what(),
                        "Nothing is known about what the call changed; look before repeating it");
  }
}

MethodReply run_method(const StartCall& call, CallContext& context) {
  try {
    return call.method->handler(MethodCall{.version = call.version,
                                           .role = call.role,
                                           .params = call.params,
                                           .history = call.history},
                                context);
  } catch (const std::exception& problem) {  // as above
    return method_failure(rpc::kInternalError,
                          std::string("Internal error: unexpected failure: ") + problem.what());
  }
}

}  // namespace

Result<std::unique_ptr<CallPool>> CallPool::create(Box& box) {
  AB_CHECK(set_thread_stacks(kWorkerStackBytes));
  UniqueFd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.valid()) {
    return errno_error("eventfd for tool calls");
  }
  return std::unique_ptr<CallPool>(new CallPool(
      box, std::move(event)));  // NOLINT(cppcoreguidelines-owning-memory): private constructor
}

CallPool::~CallPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  ready_changed_.notify_all();
  for (Worker& worker : workers_) {
    worker.thread.join();
  }
}

void CallPool::add(StartCall call) {
  const CallKey key = call.key;
  queue_.push_back(key);
  jobs_.emplace(key, std::make_unique<Job>(Job{.call = std::move(call), .cancel = {}}));
}

void CallPool::dispatch() {
  join_ended();
  while (!queue_.empty() && running_ < kMaxCallsRunning) {
    const CallKey key = queue_.front();
    queue_.pop_front();
    ++running_;
    Job& job = *jobs_.at(key);
    auto signal = CancelSignal::create();
    if (!signal.ok()) {
      fail(key, "RATE_LIMITED", signal.error().what, "Wait for other calls to end, then repeat it");
      continue;
    }
    job.cancel.emplace(std::move(signal).value());
    if (!hand_over(job)) {
      fail(key, "SPAWN_FAILED", "no thread could be started",
           "The box has too many processes or too little memory: end some, then repeat it");
    }
  }
}

bool CallPool::hand_over(Job& job) {
  {
    const std::lock_guard lock(mutex_);
    ready_.push_back(&job);
    if (idle_ >= ready_.size()) {
      ready_changed_.notify_one();
      return true;
    }
    ++idle_;  // the worker to come
    ++threads_;
  }
  try {
    Worker& worker = workers_.emplace_back();
    worker.thread = std::thread([this, &worker] { work(worker); });
    return true;
  } catch (const std::system_error&) {
    workers_.pop_back();
    const std::lock_guard lock(mutex_);
    --idle_;
    --threads_;
    const auto at = std::find(ready_.begin(), ready_.end(), &job);
    if (at == ready_.end() || !workers_.empty()) {
      return true;  // a worker has it, or will
    }
    ready_.erase(at);
    return false;
  }
}

void CallPool::fail(CallKey key, std::string code, std::string_view why, std::string hint) {
  const Job& job = *jobs_.at(key);
  const std::string words = "the call could not start: " + std::string(why);
  const Tool* tool = job.call.tool;
  post(CallEnd{
      .key = key,
      .result = job.call.method != nullptr
                    ? render_method_failure(std::move(code), words)
                    : render_tool_result(tool->name,
                                         tool_failure(std::move(code), words, std::move(hint)),
                                         job.call.version),
      .facts = {}});
}

void CallPool::cancel(CallKey key) {
  const auto at = jobs_.find(key);
  if (at == jobs_.end()) {
    return;
  }
  if (at->second->cancel) {
    at->second->cancel->raise();
    return;
  }
  const auto waiting = std::find(queue_.begin(), queue_.end(), key);
  if (waiting != queue_.end()) {
    queue_.erase(waiting);
    ++running_;  // take_events() counts it down
    post(CallEnd{.key = key, .result = {}, .facts = {}});
  }
}

std::vector<CallEvent> CallPool::take_events() {
  eventfd_t count = 0;
  static_cast<void>(::eventfd_read(event_.get(), &count));
  std::vector<CallEvent> events;
  {
    const std::lock_guard lock(mutex_);
    events.swap(events_);
  }
  for (const CallEvent& event : events) {
    if (const auto* end = std::get_if<CallEnd>(&event)) {
      jobs_.erase(end->key);
      --running_;
    }
  }
  return events;
}

void CallPool::join_ended() {
  std::list<Worker> ended;
  {
    const std::lock_guard lock(mutex_);
    for (auto at = workers_.begin(); at != workers_.end();) {
      const auto next = std::next(at);
      if (at->ended) {
        ended.splice(ended.end(), workers_, at);
      }
      at = next;
    }
  }
  for (Worker& worker : ended) {
    worker.thread.join();
  }
}

void CallPool::work(Worker& self) {
  std::unique_lock lock(mutex_);
  while (true) {
    const auto is_due = [this] { return stopping_ || !ready_.empty(); };
    if (threads_ == 1) {
      // The last one stays: where the box has no thread left to give, process_kill can still be
      // called.
      ready_changed_.wait(lock, is_due);
    } else {
      ready_changed_.wait_for(lock, kWorkerIdleTime, is_due);
    }
    if (ready_.empty() && !stopping_ && threads_ == 1) {
      continue;  // the last one by now
    }
    --idle_;
    if (ready_.empty()) {
      --threads_;
      self.ended = true;
      static_cast<void>(::eventfd_write(event_.get(), 1));  // so that it is joined soon
      return;
    }
    const Job& job = *ready_.front();
    ready_.pop_front();
    lock.unlock();
    CallEnd end = run(job);
    lock.lock();
    // Free again before anyone can know of the end: calls in turn need one thread.
    ++idle_;
    events_.emplace_back(std::move(end));
    static_cast<void>(::eventfd_write(event_.get(), 1));
  }
}

CallEnd CallPool::run(const Job& job) {
  const StartCall& call = job.call;
  CallContext::ProgressSink sink;
  if (call.wants_progress) {
    // The session keeps to the interval too; here it keeps a busy tool from flooding the queue.
    sink = [this, key = call.key, posted = TimePoint()](double value,
                                                        std::string_view message) mutable {
      const TimePoint now = std::chrono::steady_clock::now();
      if (now - posted < kProgressInterval) {
        return;
      }
      posted = now;
      post(CallProgress{.key = key,
                        .value = value,
                        .message = std::string(message.substr(0, kMaxProgressMessageBytes + 1))});
    };
  }
  CallContext context(box_, *job.cancel, std::move(sink));
  RenderedResult result =
      call.method == nullptr
          ? render_tool_result(call.tool->name, run_handler(*call.tool, call.arguments, context),
                               call.version)
          : render_method_reply(*call.method, run_method(call, context), call.version);
  return CallEnd{.key = call.key, .result = std::move(result), .facts = std::move(context.facts())};
}

void CallPool::post(CallEvent event) {
  {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
  }
  static_cast<void>(::eventfd_write(event_.get(), 1));
}

}  // namespace agentbox::mcp
