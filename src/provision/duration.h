// pure: ages and lifetimes as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace agentbox::provision {

/// `90s`, `10m`, `2h`, `7d` in seconds, the number at most 100,000; nothing for any other text.
[[nodiscard]] std::optional<std::int64_t> parse_duration(std::string_view text);

}  // namespace agentbox::provision
