// pure: points in time as replies show them.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>

namespace agentbox::mcp {

/// RFC 3339 in UTC with nanoseconds: "2026-01-02T03:04:05.000000006Z".
[[nodiscard]] std::string timestamp(const timespec& time);

/// The same to the second, of SECONDS since 1970.
[[nodiscard]] std::string timestamp_seconds(std::int64_t seconds);

}  // namespace agentbox::mcp
