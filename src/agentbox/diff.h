// pure: the difference of two texts as people and models read it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace agentbox::mcp {

struct UnifiedDiff {
  std::string text;        ///< empty where there is no difference
  bool truncated = false;  ///< hunks that did not fit are left out
};

/// The unified diff from BEFORE to AFTER with three lines of context, as diff -u prints it, both
/// sides under NAME; at most LIMIT bytes, cut between lines. Where so many lines differ that the
/// shortest way would take long to find, the whole changed part is one hunk.
[[nodiscard]] UnifiedDiff unified_diff(std::string_view before, std::string_view after,
                                       std::string_view name, std::size_t limit);

}  // namespace agentbox::mcp
