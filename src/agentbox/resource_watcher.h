// pure: what a server needs of whoever looks for changes of resources.
#pragma once

#include <vector>

#include "agentbox/subscriptions.h"

namespace agentbox::mcp {

struct WatchEvent {
  enum class Kind { kStarted, kFailed, kChanged };
  WatchKey key = 0;
  Kind kind = Kind::kChanged;
};

/// None of its members waits for a file or a process.
class ResourceWatcher {
 public:
  ResourceWatcher() = default;
  ResourceWatcher(const ResourceWatcher&) = delete;
  ResourceWatcher& operator=(const ResourceWatcher&) = delete;
  virtual ~ResourceWatcher() = default;

  /// Tells kStarted or kFailed of it later, unless it is stopped before.
  virtual void start(StartWatch watch) = 0;
  virtual void stop(StopWatch watch) = 0;
  /// Readable while events wait. Borrowed.
  [[nodiscard]] virtual int fd() const = 0;
  [[nodiscard]] virtual std::vector<WatchEvent> take_events() = 0;
};

}  // namespace agentbox::mcp
