// pure: see ip.h.
#include "base/ip.h"

#include <arpa/inet.h>

#include <array>
#include <utility>

namespace agentbox {

std::optional<std::string> ip_bytes(std::string_view text) {
  constexpr std::array<std::pair<int, std::size_t>, 2> kFamilies = {{{AF_INET, 4}, {AF_INET6, 16}}};
  if (text.find('\0') != std::string_view::npos) {
    return std::nullopt;
  }
  const std::string copy(text);
  for (const auto& [family, size] : kFamilies) {
    std::string bytes(size, '\0');
    if (::inet_pton(family, copy.c_str(), bytes.data()) == 1) {
      return bytes;
    }
  }
  return std::nullopt;
}

}  // namespace agentbox
