// pure: when a child that ended is started again: back-off as a value, time passed in.
#pragma once

#include <algorithm>
#include <chrono>

namespace agentbox::provision {

using Moment = std::chrono::steady_clock::time_point;

/// First pause after an end: short, most ends are the other side's restart.
inline constexpr std::chrono::milliseconds kFirstPause{100};
/// Longest pause: an operator who repaired something does not wait long.
inline constexpr std::chrono::milliseconds kLongestPause{5000};
/// Who ran this long was well; the next pause is the first one again.
inline constexpr std::chrono::seconds kWellAfter{10};

/// Pauses between the lives of one child.
class Backoff {
 public:
  void started(Moment now) { started_ = now; }
  /// The moment of the next start after an end at NOW.
  [[nodiscard]] Moment ended(Moment now) {
    if (now - started_ >= kWellAfter) {
      pause_ = kFirstPause;
    }
    const Moment next = now + pause_;
    pause_ = std::min(pause_ * 2, kLongestPause);
    return next;
  }

 private:
  Moment started_{};
  std::chrono::milliseconds pause_ = kFirstPause;
};

}  // namespace agentbox::provision
