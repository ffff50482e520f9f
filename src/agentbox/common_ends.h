// pure: what two sequences share at both ends.
#pragma once

#include <algorithm>
#include <cstddef>

namespace agentbox::mcp {

struct CommonEnds {
  std::size_t head = 0;  ///< elements that are equal at the start
  std::size_t tail = 0;  ///< at the end, none of them counted in head
};

/// Of two texts, or two lists of lines.
template <typename Sequence>
[[nodiscard]] CommonEnds common_ends(const Sequence& a, const Sequence& b) {
  const std::size_t least = std::min(a.size(), b.size());
  CommonEnds ends;
  while (ends.head < least && a[ends.head] == b[ends.head]) {
    ++ends.head;
  }
  while (ends.tail < least - ends.head &&
         a[a.size() - 1 - ends.tail] == b[b.size() - 1 - ends.tail]) {
    ++ends.tail;
  }
  return ends;
}

}  // namespace agentbox::mcp
