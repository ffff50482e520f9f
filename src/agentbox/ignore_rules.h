// pure: what a .gitignore says of a path.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "agentbox/glob.h"

namespace agentbox::mcp {

/// Of one file; what lies beyond is not heard: each rule is tried on each name of a tree.
inline constexpr std::size_t kMaxIgnoreBytes = 64 * std::size_t{1024};
inline constexpr std::size_t kMaxIgnoreRules = 500;

/// The rules of one .gitignore, as git reads them. A line that is no pattern is left out.
class IgnoreRules {
 public:
  explicit IgnoreRules(std::string_view text);

  [[nodiscard]] bool empty() const { return rules_.empty(); }
  /// True: ignored; false: expressly not; nothing: these rules say nothing of PATH, which is
  /// relative to the folder they lie in.
  [[nodiscard]] std::optional<bool> ignores(std::string_view path, bool is_folder) const;

 private:
  struct Rule {
    Glob glob;
    bool ignore = true;
    bool folders_only = false;
  };
  void add(std::string_view line);

  std::vector<Rule> rules_;
};

}  // namespace agentbox::mcp
