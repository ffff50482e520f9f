// pure: see timestamps.h.
#include "agentbox/timestamps.h"

#include <array>
#include <cstdio>

namespace agentbox::mcp {

std::string timestamp(const timespec& time) {
  std::tm parts{};
  if (::gmtime_r(&time.tv_sec, &parts) == nullptr) {
    return "unknown";
  }
  std::array<char, 96> text{};
  (void)std::snprintf(text.data(), text.size(), "%04d-%02d-%02dT%02d:%02d:%02d.%09ldZ",
                      parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour,
                      parts.tm_min, parts.tm_sec, time.tv_nsec);
  return text.data();
}

}  // namespace agentbox::mcp
