// pure: numeric addresses.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace agentbox {

/// The bytes of an address in the network's order: 4 of IPv4, 16 of IPv6; nothing for any other
/// text, names and zones among them. All of TEXT counts: inet_pton by itself reads up to a NUL and
/// lets pass whatever is behind it.
[[nodiscard]] std::optional<std::string> ip_bytes(std::string_view text);

}  // namespace agentbox
