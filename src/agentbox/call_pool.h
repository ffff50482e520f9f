// edge: runs tool calls on a few threads that come and go with the work.
#pragma once

#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <variant>
#include <vector>

#include "agentbox/call.h"
#include "agentbox/session.h"
#include "base/handle.h"
#include "base/result.h"

namespace agentbox::mcp {

struct CallProgress {
  CallKey key = 0;
  double value = 0;
  std::string message;
};
struct CallEnd {
  CallKey key = 0;
  RenderedResult result;
  CallFacts facts;
};
/// What running calls have to say, each call's in its order: progress, then its end.
using CallEvent = std::variant<CallProgress, CallEnd>;

/// All members are for the thread that owns the pool, except where they say otherwise.
class CallPool {
 public:
  /// BOX outlives the pool.
  [[nodiscard]] static Result<std::unique_ptr<CallPool>> create(Box& box);
  /// Waits for every running call: cancel them first.
  ~CallPool();
  CallPool(const CallPool&) = delete;
  CallPool& operator=(const CallPool&) = delete;

  /// Puts the call at the end of the queue.
  void add(StartCall call);
  /// Starts queued calls while fewer than kMaxCallsRunning run.
  void dispatch();
  /// Raises the call's signal, or ends it at once where it has not begun.
  void cancel(CallKey key);

  /// Readable while events wait. Borrowed.
  [[nodiscard]] int fd() const { return event_.get(); }
  [[nodiscard]] std::vector<CallEvent> take_events();

  /// Calls added whose end has not been taken.
  [[nodiscard]] std::size_t size() const { return jobs_.size(); }

 private:
  struct Job {
    StartCall call;
    std::optional<CancelSignal> cancel;
  };
  struct Worker {
    std::thread thread;
    bool ended = false;  // guarded by mutex_
  };

  CallPool(Box& box, UniqueFd event) : box_(box), event_(std::move(event)) {}
  [[nodiscard]] bool hand_over(Job& job);
  void fail(CallKey key, std::string code, std::string_view why, std::string hint);
  void join_ended();
  void work(Worker& self);      // on a worker's thread
  CallEnd run(const Job& job);  // on a worker's thread
  void post(CallEvent event);   // on any thread

  Box& box_;
  UniqueFd event_;
  std::map<CallKey, std::unique_ptr<Job>> jobs_;
  std::deque<CallKey> queue_;  // of jobs_, not begun
  std::size_t running_ = 0;
  std::list<Worker> workers_;

  std::mutex mutex_;
  std::condition_variable ready_changed_;
  std::deque<const Job*> ready_;   // guarded by mutex_
  std::vector<CallEvent> events_;  // guarded by mutex_
  // Workers that wait for a job or are about to; guarded by mutex_.
  std::size_t idle_ = 0;
  std::size_t threads_ = 0;  // workers that have not ended; guarded by mutex_
  bool stopping_ = false;    // guarded by mutex_
};

}  // namespace agentbox::mcp
