// pure: moments as text.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

#include "base/result.h"

namespace agentbox {

/// RFC 3339 in UTC, with DIGITS (0, 3 or 9) of the second's fraction; "unknown" for a year that no
/// calendar counts.
[[nodiscard]] std::string format_time(const timespec& time, int digits);

/// The same with milliseconds. MILLISECONDS is Unix time; the texts compare as the moments
/// do.
[[nodiscard]] std::string format_time(std::int64_t milliseconds);

/// The moment that format_time() has written as TEXT; whatever it cannot have written is an Error.
[[nodiscard]] Result<std::int64_t> parse_time(std::string_view text);

}  // namespace agentbox
