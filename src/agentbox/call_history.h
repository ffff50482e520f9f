// pure: what a session remembers of its own calls, for whoever may ask.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "base/record.h"

namespace agentbox::mcp {

/// Calls remembered one by one; of older ones only the count.
inline constexpr std::size_t kCallsRemembered = 200;

/// One ended call, with nothing that the audit does not have.
struct PastCall {
  record::ToolCalled call;
  std::chrono::steady_clock::time_point ended;
};

struct CallHistory {
  std::deque<PastCall> recent = {};  ///< the newest first
  std::uint64_t ended = 0;
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;

  void add(const record::ToolCalled& call, std::chrono::steady_clock::time_point now) {
    ++ended;
    failed += call.outcome == "error" ? 1U : 0U;
    cancelled += call.outcome == "cancelled" ? 1U : 0U;
    recent.push_front({.call = call, .ended = now});
    if (recent.size() > kCallsRemembered) {
      recent.pop_back();
    }
  }
};

}  // namespace agentbox::mcp
