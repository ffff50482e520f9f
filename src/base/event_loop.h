// edge: waits for descriptors and runs their handlers; one thread, level-triggered.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/handle.h"
#include "base/result.h"

namespace agentbox {

class EventLoop {
 public:
  using Handler = std::function<void()>;

  [[nodiscard]] static Result<EventLoop> make();

  /// Runs HANDLER whenever FD is readable or hung up. FD stays the caller's and must be forgotten
  /// before it is closed. A handler may watch and forget any descriptor, its own included.
  [[nodiscard]] Status watch(int fd, Handler handler);
  void forget(int fd);
  /// A paused descriptor is not reported until it is resumed; its data wait in the kernel.
  void pause(int fd);
  void resume(int fd);

  /// Waits for events until DEADLINE at the latest and runs what is due.
  [[nodiscard]] Status turn(std::chrono::steady_clock::time_point deadline);

 private:
  struct Entry {
    Handler handler;
    std::uint32_t generation = 0;
  };
  explicit EventLoop(UniqueFd epoll) : epoll_(std::move(epoll)) {}
  void set_events(int fd, std::uint32_t events);

  UniqueFd epoll_;
  std::map<int, std::unique_ptr<Entry>> entries_;
  // Forgotten entries live until the turn ends: one of them may be the handler that is running.
  std::vector<std::unique_ptr<Entry>> forgotten_;
  // Tells an event of a closed descriptor from one of its successor with the same number.
  std::uint32_t next_generation_ = 0;
};

}  // namespace agentbox
