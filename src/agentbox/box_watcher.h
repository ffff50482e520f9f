// edge: looks at the resources of a box for changes, on a thread of its own: a file system that
// hangs hangs nobody else.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "agentbox/box.h"
#include "agentbox/resource_uri.h"
#include "agentbox/resource_watcher.h"
#include "base/handle.h"
#include "base/result.h"

namespace agentbox::mcp {

/// How often each is looked at. Works on every kernel and file system, and for what another
/// container or machine changes; no notice of the kernel does.
inline constexpr std::chrono::milliseconds kLookInterval{250};

class BoxWatcher final : public ResourceWatcher {
 public:
  /// BOX outlives it.
  [[nodiscard]] static Result<std::unique_ptr<BoxWatcher>> create(Box& box);
  /// Waits for its thread: see end().
  ~BoxWatcher() override;

  void start(StartWatch watch) override;
  void stop(StopWatch watch) override;
  [[nodiscard]] int fd() const override { return event_.get(); }
  [[nodiscard]] std::vector<WatchEvent> take_events() override;

  /// True once its thread is over; false where it hangs in the kernel until DEADLINE.
  [[nodiscard]] bool end(std::chrono::steady_clock::time_point deadline);

 private:
  struct Watch {
    std::string uri;
    std::optional<std::string> state;  // when it was looked at last
  };

  BoxWatcher(Box& box, UniqueFd event) : box_(box), event_(std::move(event)) {}
  [[nodiscard]] bool run_thread();
  void run();
  void look(WatchKey key, const std::string& uri);
  void post(WatchEvent event);  // with mutex_ held

  Box& box_;
  UniqueFd event_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<WatchKey, Watch> watches_;  // guarded by mutex_, as is everything below
  std::vector<WatchEvent> events_;
  bool ending_ = false;
  bool over_ = true;  // its thread, where it has one
  std::thread thread_;
};

/// What is compared to see whether the resource URI, or the list of them (kResourceList), has
/// changed. The same for everything that is not there.
[[nodiscard]] std::string resource_state(Box& box, const std::string& uri);

}  // namespace agentbox::mcp
