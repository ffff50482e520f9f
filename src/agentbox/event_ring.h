// pure: the last changes of one watch, numbered without a gap, and the cursors that point between
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agentbox/file_change.h"
#include "base/result.h"

namespace agentbox::mcp {

/// Changes that one watch keeps for whoever comes back.
inline constexpr std::size_t kMaxRingEvents = 10'000;
/// Bytes that their paths may take together: much more than names of usual length do.
inline constexpr std::size_t kMaxRingBytes = 8UL << 20;

struct NumberedChange {
  std::uint64_t seq = 0;  ///< 1 for the first of a watch
  FileChange change;
};

class EventRing {
 public:
  explicit EventRing(std::size_t limit = kMaxRingEvents) : limit_(limit) {}

  void add(FileChange change);
  /// The number of the last change; 0: there was none yet.
  [[nodiscard]] std::uint64_t last() const { return last_; }

  struct Piece {
    std::vector<NumberedChange> changes = {};
    std::uint64_t next = 0;  ///< the number to read after the next time
    bool lost = false;       ///< changes after the number given are gone: nothing is returned
  };
  /// The changes after number AFTER (at most last()), at most MOST and of MOST_BYTES, but one.
  [[nodiscard]] Piece after(std::uint64_t after, std::size_t most, std::size_t most_bytes) const;

 private:
  std::size_t limit_;
  std::uint64_t last_ = 0;
  std::size_t bytes_ = 0;
  std::deque<FileChange> changes_;  // the last of them has number last_
};

/// Where a caller left off reading a watch.
struct WatchCursor {
  std::string watch;      ///< its id
  std::uint64_t seq = 0;  ///< the last change read
};

[[nodiscard]] std::string encode_cursor(const WatchCursor& cursor);
/// What encode_cursor() made, or an Error.
[[nodiscard]] Result<WatchCursor> decode_cursor(std::string_view text);

}  // namespace agentbox::mcp
