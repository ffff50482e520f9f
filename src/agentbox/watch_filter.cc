// pure: see watch_filter.h.
#include "agentbox/watch_filter.h"

#include <algorithm>
#include <utility>

namespace agentbox::mcp {
namespace {

Outcome<Glob> compile_glob(const std::string& pattern, std::string_view argument) {
  if (pattern.size() > kMaxWatchPatternBytes) {
    return ToolError{.code = "BAD_PATTERN",
                     .message = "a pattern of " + std::string(argument) + " is longer than " +
                                std::to_string(kMaxWatchPatternBytes) + " bytes",
                     .hint = "Use ** and * for what the names have in common"};
  }
  auto glob = Glob::compile(pattern);
  if (!glob.ok()) {
    return ToolError{
        .code = "BAD_PATTERN",
        .message = "a pattern of " + std::string(argument) + " is no glob: " + glob.error().what,
        .hint =
            "Use **, *, ?, [..] and {a,b}; a backslash takes the next character "
            "as it is"};
  }
  return std::move(*glob);
}

// **/NAME or **/NAME/**: whether a name matches does not depend on the folders above NAME.
bool holds_anywhere(std::string_view pattern) {
  constexpr std::string_view kAnywhere = "**/";
  constexpr std::string_view kWhole = "/**";
  if (!pattern.starts_with(kAnywhere)) {
    return false;
  }
  pattern.remove_prefix(kAnywhere.size());
  if (pattern.ends_with(kWhole)) {
    pattern.remove_suffix(kWhole.size());
  }
  return pattern.find('/') == std::string_view::npos;
}

}  // namespace

const std::vector<std::string>& default_excludes() {
  static const std::vector<std::string> patterns{"**/.git/**", "**/node_modules/**"};
  return patterns;
}

Outcome<WatchFilter> WatchFilter::compile(const std::vector<std::string>& include,
                                          const std::vector<std::string>& exclude) {
  WatchFilter filter;
  for (const std::string& pattern : include) {
    AB_TRY(glob, compile_glob(pattern, "include"));
    filter.include_.push_back(std::move(glob));
  }
  for (const std::string& pattern : exclude) {
    AB_TRY(glob, compile_glob(pattern, "exclude"));
    filter.exclude_.push_back({.glob = std::move(glob), .whole = pattern.ends_with("**")});
    filter.anywhere_ = filter.anywhere_ && agentbox::mcp::holds_anywhere(pattern);
  }
  filter.anywhere_ = filter.anywhere_ && include.empty();
  return filter;
}

bool WatchFilter::shows(std::string_view path) const {
  const auto matches = [path](const Glob& glob) { return glob.matches(path); };
  return (include_.empty() || std::any_of(include_.begin(), include_.end(), matches)) &&
         std::none_of(exclude_.begin(), exclude_.end(),
                      [&](const Exclude& exclude) { return matches(exclude.glob); });
}

bool WatchFilter::enters(std::string_view folder) const {
  // A pattern that ends with ** takes every name in the folder, or none.
  const std::string any = std::string(folder) + "/x";
  return std::none_of(exclude_.begin(), exclude_.end(), [&](const Exclude& exclude) {
    return exclude.glob.matches(folder) || (exclude.whole && exclude.glob.matches(any));
  });
}

}  // namespace agentbox::mcp
