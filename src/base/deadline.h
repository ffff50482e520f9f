// pure: a deadline as poll's timeout.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace agentbox {

/// Milliseconds until DEADLINE for poll() and epoll_wait(): 0 where it has passed, rounded up so
/// that a waiter never wakes early, at most an hour.
[[nodiscard]] inline int poll_timeout(std::chrono::steady_clock::time_point deadline,
                                      std::chrono::steady_clock::time_point now) {
  constexpr std::int64_t kMost = 3'600'000;
  if (deadline <= now) {
    return 0;  // also keeps the subtraction from overflowing
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now);
  return static_cast<int>(std::min<std::int64_t>(left.count(), kMost));
}

}  // namespace agentbox
