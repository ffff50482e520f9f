// pure: moments as text.
#pragma once

#include <cstdint>
#include <string>

namespace agentbox {

/// RFC 3339 in UTC with milliseconds. MILLISECONDS is Unix time; the texts compare as the moments
/// do.
[[nodiscard]] std::string format_time(std::int64_t milliseconds);

}  // namespace agentbox
