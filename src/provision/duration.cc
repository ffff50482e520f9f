// pure: see duration.h.
#include "provision/duration.h"

#include <array>
#include <utility>

#include "base/text.h"

namespace agentbox::provision {

std::optional<std::int64_t> parse_duration(std::string_view text) {
  constexpr std::array<std::pair<char, std::int64_t>, 4> kUnits = {
      {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86'400}}};
  constexpr std::uint64_t kMost = 100'000;
  for (const auto& [unit, seconds] : kUnits) {
    if (text.ends_with(unit)) {
      const auto number = parse_decimal(text.substr(0, text.size() - 1));
      return number.ok() && *number <= kMost
                 ? std::optional(static_cast<std::int64_t>(*number) * seconds)
                 : std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace agentbox::provision
