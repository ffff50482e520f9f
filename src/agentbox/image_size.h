// pure: how large a picture is, by the first bytes of its file, and whether its end is there.
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

/// False where the mark at the end of a PNG, JPEG or GIF file is missing, or a WebP file is shorter
/// than it says: one that is still being written. What lies behind the end does not count.
[[nodiscard]] bool is_whole_image(std::string_view bytes);

}  // namespace agentbox::mcp
