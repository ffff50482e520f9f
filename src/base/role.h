// pure: what a key may do with the box's tools; which sessions it may open does not depend on it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace agentbox {

enum class Role : std::uint8_t { kReader, kAgent, kAdmin, kOperator };

inline constexpr std::array<Role, 4> kRoles = {Role::kReader, Role::kAgent, Role::kAdmin,
                                               Role::kOperator};

/// As authorized_keys, the records and the audit spell it.
[[nodiscard]] constexpr std::string_view role_name(Role role) {
  switch (role) {
    case Role::kReader:
      return "reader";
    case Role::kAgent:
      return "agent";
    case Role::kAdmin:
      return "admin";
    case Role::kOperator:
      return "operator";
  }
  return "reader";
}

/// The role of exactly that name; nothing for any other text.
[[nodiscard]] constexpr std::optional<Role> find_role(std::string_view name) {
  for (const Role role : kRoles) {
    if (role_name(role) == name) {
      return role;
    }
  }
  return std::nullopt;
}

}  // namespace agentbox
