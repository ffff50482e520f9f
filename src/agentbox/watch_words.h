// pure: what a session asks the host of watches, and what comes back, as JSON. Agent code can reach
// that host, and can stand in for it: both ends check what they read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agentbox/event_ring.h"
#include "agentbox/outcome.h"
#include "base/json.h"
#include "base/result.h"

namespace agentbox::mcp {

inline constexpr std::int64_t kMaxWatchWaitMs = 50'000;
inline constexpr std::int64_t kMaxDebounceMs = 5'000;
inline constexpr std::int64_t kDefaultDebounceMs = 300;
/// Changes of one answer.
inline constexpr std::int64_t kMaxWatchEvents = 5'000;

struct WatchRequest {
  std::string cursor = {};  ///< empty: begin
  bool close = false;       ///< the watch behind the cursor ends with this
  std::int64_t wait_ms = 0;
  std::int64_t max_events = 1;
  // What is watched. Next to a cursor: what the caller takes it to be, as far as it says.
  std::optional<std::string> path = {};  ///< as shown to people
  std::optional<bool> recursive = {};
  std::optional<std::vector<std::string>> include = {};
  std::optional<std::vector<std::string>> exclude = {};
  std::optional<std::int64_t> debounce_ms = {};
};

[[nodiscard]] OrderedJson encode_watch_request(const WatchRequest& request);
[[nodiscard]] Result<WatchRequest> decode_watch_request(const Json& json);

struct WatchReply {
  std::optional<ToolError> error = {};       ///< set: nothing else is
  std::string path = {};                     ///< as shown to people
  std::vector<NumberedChange> changes = {};  ///< paths from the workspace's root, quoted
  std::string next_cursor = {};
  bool overflow = false;
};

[[nodiscard]] OrderedJson encode_watch_reply(const WatchReply& reply);
/// Whatever a stand-in wrote: names that every path argument takes, text without characters that
/// disturb, everything in its bounds; or an Error.
[[nodiscard]] Result<WatchReply> decode_watch_reply(const Json& json);

}  // namespace agentbox::mcp
