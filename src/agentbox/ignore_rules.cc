// pure: see ignore_rules.h.
#include "agentbox/ignore_rules.h"

#include <algorithm>
#include <string>
#include <utility>

namespace agentbox::mcp {
namespace {

// Spaces at the end do not count unless a backslash stands before them.
std::string_view without_trailing_space(std::string_view line) {
  while (line.ends_with(' ') || line.ends_with('\t')) {
    if (line.size() > 1 && line[line.size() - 2] == '\\') {
      break;
    }
    line.remove_suffix(1);
  }
  return line;
}

// Braces mean nothing to git.
std::string with_plain_braces(std::string_view pattern) {
  std::string plain;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const char c = pattern[at];
    if (c == '\\' && at + 1 < pattern.size()) {
      plain.push_back(c);
      plain.push_back(pattern[++at]);
    } else {
      plain.append(c == '{' || c == '}' ? "\\" : "").push_back(c);
    }
  }
  return plain;
}

}  // namespace

IgnoreRules::IgnoreRules(std::string_view text) {
  text = text.substr(0, kMaxIgnoreBytes);
  while (!text.empty() && rules_.size() < kMaxIgnoreRules) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    add(without_trailing_space(line));
  }
}

void IgnoreRules::add(std::string_view line) {
  if (line.empty() || line.front() == '#') {
    return;
  }
  const bool ignore = line.front() != '!';
  if (!ignore) {
    line.remove_prefix(1);
  }
  const bool folders_only = line.ends_with('/');
  if (folders_only) {
    line.remove_suffix(1);
  }
  // A slash inside ties the rule to its folder; without one it holds at every depth.
  const bool tied = line.find('/') != std::string_view::npos;
  if (line.starts_with('/')) {
    line.remove_prefix(1);
  }
  if (line.empty()) {
    return;
  }
  auto glob = Glob::compile((tied ? "" : "**/") + with_plain_braces(line));
  if (glob.ok()) {
    rules_.push_back({.glob = std::move(*glob), .ignore = ignore, .folders_only = folders_only});
  }
}

std::optional<bool> IgnoreRules::ignores(std::string_view path, bool is_folder) const {
  for (auto rule = rules_.rbegin(); rule != rules_.rend(); ++rule) {
    if ((is_folder || !rule->folders_only) && rule->glob.matches(path)) {
      return rule->ignore;
    }
  }
  return std::nullopt;
}

}  // namespace agentbox::mcp
