// edge: what a running tool call can see and do besides its arguments.
#pragma once

#include <atomic>
#include <functional>
#include <string_view>
#include <utility>

#include "agentbox/tool.h"
#include "base/handle.h"
#include "base/result.h"

namespace agentbox::mcp {

struct Box;  // box.h: the per-process services (workspace, commands, ...)

// A one-way switch that threads can ask and poll. Raised at most once, never lowered.
class CancelSignal {
 public:
  [[nodiscard]] static Result<CancelSignal> create();

  CancelSignal(CancelSignal&& other) noexcept
      : raised_(other.raised_.load()), event_(std::move(other.event_)) {}
  CancelSignal& operator=(CancelSignal&&) = delete;
  CancelSignal(const CancelSignal&) = delete;
  CancelSignal& operator=(const CancelSignal&) = delete;
  ~CancelSignal() = default;

  void raise();
  [[nodiscard]] bool raised() const { return raised_.load(std::memory_order_acquire); }
  // Readable (POLLIN) from the moment it is raised. Borrowed; never read from it.
  [[nodiscard]] int fd() const { return event_.get(); }

 private:
  explicit CancelSignal(UniqueFd event) : event_(std::move(event)) {}

  std::atomic<bool> raised_{false};
  UniqueFd event_;
};

// One call's surroundings. Lives on the worker's stack; valid only during the handler.
class CallContext {
 public:
  // Called on the worker's thread; may be empty when the caller asked for no progress.
  using ProgressSink = std::function<void(double value, std::string_view message)>;

  CallContext(Box& box, const CancelSignal& cancel, ProgressSink sink = {})
      : box_(box), cancel_(cancel), sink_(std::move(sink)) {}

  [[nodiscard]] Box& box() const { return box_; }

  // True once the caller cancelled, the link was lost, or the process is ending.
  [[nodiscard]] bool cancelled() const { return cancel_.raised(); }
  [[nodiscard]] int cancel_fd() const { return cancel_.fd(); }

  // Whether progress() goes anywhere: lets a tool skip the work of composing it.
  [[nodiscard]] bool wants_progress() const { return static_cast<bool>(sink_); }
  // `value` grows (for a command: bytes of output so far); values that don't are dropped, and so
  // are reports closer than 500 ms to the last. `message` is cut to 512 bytes.
  void progress(double value, std::string_view message) {
    if (sink_) {
      sink_(value, message);
    }
  }

  [[nodiscard]] CallFacts& facts() { return facts_; }

 private:
  Box& box_;
  const CancelSignal& cancel_;
  ProgressSink sink_;
  CallFacts facts_;
};

}  // namespace agentbox::mcp
