// pure: points in time as replies show them.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>

#include "base/utc.h"

namespace agentbox::mcp {

/// As exact as files have it: "2026-01-02T03:04:05.000000006Z".
[[nodiscard]] inline std::string timestamp(const timespec& time) { return format_time(time, 9); }

/// To the second, of SECONDS since 1970.
[[nodiscard]] inline std::string timestamp_seconds(std::int64_t seconds) {
  return format_time({.tv_sec = seconds, .tv_nsec = 0}, 0);
}

}  // namespace agentbox::mcp
