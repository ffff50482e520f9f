// pure: which names of a watched tree are told of, and which folders are not even looked into.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "agentbox/glob.h"
#include "agentbox/outcome.h"

namespace agentbox::mcp {

/// Patterns of each kind.
inline constexpr std::size_t kMaxWatchPatterns = 32;
inline constexpr std::size_t kMaxWatchPatternBytes = 1024;
/// What is excluded where the caller names nothing: too much changes there, and it is no one's
/// work.
[[nodiscard]] const std::vector<std::string>& default_excludes();

class WatchFilter {
 public:
  /// Shows everything.
  WatchFilter() = default;
  /// Globs over paths relative to what is watched. BAD_PATTERN where one is none.
  [[nodiscard]] static Outcome<WatchFilter> compile(const std::vector<std::string>& include,
                                                    const std::vector<std::string>& exclude);

  [[nodiscard]] bool shows(std::string_view path) const;
  /// False for a folder that is excluded itself, or of which a pattern PREFIX/** excludes all.
  [[nodiscard]] bool enters(std::string_view folder) const;
  /// Whether moving a folder changes nothing about what in it is shown, as long as enters() is true
  /// of both its names.
  [[nodiscard]] bool holds_anywhere() const { return anywhere_; }

 private:
  struct Exclude {
    Glob glob;
    bool whole = false;  // ends with **
  };
  std::vector<Glob> include_;
  std::vector<Exclude> exclude_;
  bool anywhere_ = true;
};

}  // namespace agentbox::mcp
