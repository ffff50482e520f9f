// pure: how large a picture is, by the first bytes of its file.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace agentbox::mcp {

/// In pixels.
struct ImageSize {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
};

/// The longest side that any of the formats but PNG can tell, and more than any decoder of a client
/// takes.
inline constexpr std::uint32_t kMaxImageSide = 65'535;

/// The size that a PNG, JPEG, GIF or WebP file tells of itself; nothing for other bytes, and where
/// a side is 0 or longer than kMaxImageSide. What it tells need not be true.
[[nodiscard]] std::optional<ImageSize> image_size(std::string_view bytes);

}  // namespace agentbox::mcp
