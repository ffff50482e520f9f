// pure: see timestamps.h.
#include "agentbox/timestamps.h"

#include <array>
#include <cstdio>

namespace agentbox::mcp {
namespace {

std::string format(std::time_t seconds, const std::string& fraction) {
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) {
    return "unknown";
  }
  std::array<char, 96> text{};
  (void)std::snprintf(text.data(), text.size(), "%04d-%02d-%02dT%02d:%02d:%02d",
                      parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour,
                      parts.tm_min, parts.tm_sec);
  return text.data() + fraction + "Z";
}

}  // namespace

std::string timestamp(const timespec& time) {
  std::array<char, 32> fraction{};
  (void)std::snprintf(fraction.data(), fraction.size(), ".%09ld", time.tv_nsec);
  return format(time.tv_sec, fraction.data());
}

std::string timestamp_seconds(std::int64_t seconds) { return format(seconds, ""); }

}  // namespace agentbox::mcp
