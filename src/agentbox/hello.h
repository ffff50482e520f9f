// pure: tells a client that speaks something else from one that has not begun yet.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "agentbox/jsonrpc.h"
#include "agentbox/session.h"

namespace agentbox::mcp {

/// Counts what comes before the first valid message: kHelloMaxLines lines that begin with neither
/// { nor [, kHelloMaxBytes of bytes in such or otherwise useless lines, or kHelloTime without one.
class HelloGuard {
 public:
  explicit HelloGuard(TimePoint opened) : opened_(opened) {}

  /// A line of input; GREETED says whether it (or one before) was a valid message.
  void on_line(const Line& line, bool greeted);
  /// Why the session must end, in words for the log; nothing while all is well. PENDING is the
  /// unfinished line so far.
  [[nodiscard]] std::optional<std::string> verdict(std::string_view pending, TimePoint now) const;
  /// When to ask again at the latest; nothing once greeted.
  [[nodiscard]] std::optional<TimePoint> deadline() const;

 private:
  TimePoint opened_;
  bool greeted_ = false;
  std::size_t lines_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace agentbox::mcp
