// pure: how many of the box's tools a key is offered; what it may do with them is its role's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace agentbox {

/// Each holds the tools of the ones before it.
enum class Profile : std::uint8_t { kCore, kStandard, kFull };

inline constexpr std::array<Profile, 3> kProfiles = {Profile::kCore, Profile::kStandard,
                                                     Profile::kFull};

/// As authorized_keys, the configuration and the records spell it.
[[nodiscard]] constexpr std::string_view profile_name(Profile profile) {
  switch (profile) {
    case Profile::kCore:
      return "core";
    case Profile::kStandard:
      return "standard";
    case Profile::kFull:
      return "full";
  }
  return "standard";
}

/// The profile of exactly that name; nothing for any other text.
[[nodiscard]] constexpr std::optional<Profile> find_profile(std::string_view name) {
  for (const Profile profile : kProfiles) {
    if (profile_name(profile) == name) {
      return profile;
    }
  }
  return std::nullopt;
}

}  // namespace agentbox
