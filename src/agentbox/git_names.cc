// pure: see git_names.h.
#include "agentbox/git_names.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace agentbox::mcp {
namespace {

constexpr std::size_t kMaxRefBytes = 1024;
// In hex, of SHA-1 and of SHA-256.
constexpr std::array<std::size_t, 2> kHashLengths{40, 64};

constexpr std::array<std::string_view, 3> kRoots{"refs/heads/", "refs/tags/", "refs/remotes/"};

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_part(std::string_view part) {
  return !part.empty() && part.front() != '.' && part.front() != '-' && !part.ends_with('.') &&
         !part.ends_with(".lock");
}

}  // namespace

bool is_ref_name(std::string_view name) {
  if (name.size() > kMaxRefBytes || !name.starts_with("refs/") || !is_printable_ascii(name) ||
      name.find_first_of(" ~^:?*[\\\"'") != std::string_view::npos ||
      name.find("..") != std::string_view::npos || name.find("@{") != std::string_view::npos) {
    return false;
  }
  for (;;) {
    const std::size_t slash = name.find('/');
    if (!is_part(name.substr(0, slash))) {
      return false;
    }
    if (slash == std::string_view::npos) {
      return true;
    }
    name.remove_prefix(slash + 1);
  }
}

std::string short_ref_name(std::string_view name) {
  for (const std::string_view root : kRoots) {
    if (name.starts_with(root) && is_ref_name(name)) {
      return std::string(name.substr(root.size()));
    }
  }
  return {};
}

std::vector<std::string> read_packed_refs(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty() && names.size() < kMaxGitNames) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t blank = line.find(' ');
    const bool has_hash =
        std::find(kHashLengths.begin(), kHashLengths.end(), blank) != kHashLengths.end() &&
        is_hex(line.substr(0, blank));
    if (has_hash && is_ref_name(line.substr(blank + 1))) {
      names.emplace_back(line.substr(blank + 1));
    }
  }
  return names;
}

}  // namespace agentbox::mcp
