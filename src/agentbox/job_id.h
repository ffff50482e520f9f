// pure: the names a process of the box goes by.
#pragma once

#include <cstddef>
#include <string_view>

namespace agentbox::mcp {

/// 128 random bits in hex.
inline constexpr std::size_t kJobIdBytes = 16;
inline constexpr std::size_t kMaxJobNameBytes = 64;

[[nodiscard]] constexpr bool is_job_id(std::string_view text) {
  if (text.size() != 2 * kJobIdBytes) {
    return false;
  }
  for (const char c : text) {
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) {
      return false;
    }
  }
  return true;
}

/// ^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$, and not what an id looks like.
[[nodiscard]] constexpr bool is_job_name(std::string_view text) {
  if (text.empty() || text.size() > kMaxJobNameBytes || is_job_id(text)) {
    return false;
  }
  bool first = true;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!plain && (first || (c != '.' && c != '_' && c != '-'))) {
      return false;
    }
    first = false;
  }
  return true;
}

/// The name of a program of ours: a dot, then a job's name, so that no job can have it.
[[nodiscard]] constexpr bool is_hosted_name(std::string_view text) {
  return text.size() > 1 && text.front() == '.' && is_job_name(text.substr(1));
}

}  // namespace agentbox::mcp
