// edge: reads a file from some place on and waits for more of it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "agentbox/outcome.h"
#include "agentbox/workspace.h"
#include "base/pattern.h"

namespace agentbox::mcp {

struct FollowRequest {
  std::optional<std::uint64_t> start = {};  ///< none: the file's end now
  std::chrono::milliseconds time{0};        ///< how long more is waited for; 0: not at all
  std::size_t max_bytes = 0;                ///< stops once there are as many
  std::optional<Pattern> until = {};        ///< stops once a line matches
  int cancel_fd = -1;                       ///< readable: stop now
  /// Told the bytes so far and the last line among them, each time there are more.
  std::function<void(std::uint64_t, std::string_view)> progress = [](std::uint64_t,
                                                                     std::string_view) {};
};

struct Followed {
  std::string bytes;        ///< no character of text is split at its ends
  std::uint64_t start = 0;  ///< where they begin
  std::uint64_t end = 0;    ///< where to go on; in the newest file, where the name was replaced
  bool truncated = false;   ///< there is more already
  bool rotated = false;     ///< the file was replaced or cut off, and then read from its beginning
  bool matched = false;
};

/// Reads PATH from where REQUEST says and goes on as it grows. A start beyond the end counts as a
/// file that was cut off meanwhile. Errors as of Workspace::open_file.
[[nodiscard]] Outcome<Followed> follow_file(const Workspace& workspace, const BoxPath& path,
                                            const FollowRequest& request);

}  // namespace agentbox::mcp
