// pure: see image_size.h.
#include "agentbox/image_size.h"

#include <cstddef>

namespace agentbox::mcp {
namespace {

using namespace std::string_view_literals;

// The number in the BYTES bytes of TEXT from AT on. They must be there.
std::uint32_t big_endian(std::string_view text, std::size_t at, std::size_t bytes) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    number = (number << 8U) | static_cast<unsigned char>(text[at + i]);
  }
  return number;
}

std::uint32_t little_endian(std::string_view text, std::size_t at, std::size_t bytes) {
  std::uint32_t number = 0;
  for (std::size_t i = bytes; i > 0; --i) {
    number = (number << 8U) | static_cast<unsigned char>(text[at + i - 1]);
  }
  return number;
}

std::optional<ImageSize> checked(std::uint32_t width, std::uint32_t height) {
  const bool is_sane = width > 0 && height > 0 && width <= kMaxImageSide && height <= kMaxImageSide;
  return is_sane ? std::optional(ImageSize{.width = width, .height = height}) : std::nullopt;
}

// The mark, then the chunk IHDR: length, name, width, height.
std::optional<ImageSize> png_size(std::string_view bytes) {
  constexpr std::size_t kNameAt = 12;
  constexpr std::size_t kWidthAt = 16;
  constexpr std::size_t kHeightAt = 20;
  if (bytes.size() < kHeightAt + 4 || bytes.substr(kNameAt, 4) != "IHDR") {
    return std::nullopt;
  }
  return checked(big_endian(bytes, kWidthAt, 4), big_endian(bytes, kHeightAt, 4));
}

std::optional<ImageSize> gif_size(std::string_view bytes) {
  constexpr std::size_t kWidthAt = 6;
  constexpr std::size_t kHeightAt = 8;
  if (bytes.size() < kHeightAt + 2) {
    return std::nullopt;
  }
  return checked(little_endian(bytes, kWidthAt, 2), little_endian(bytes, kHeightAt, 2));
}

// "RIFF....WEBP", then a chunk of one of three forms.
std::optional<ImageSize> webp_size(std::string_view bytes) {
  constexpr std::size_t kKindAt = 12;
  constexpr std::size_t kDataAt = 20;
  constexpr std::uint32_t kSideBits = 0x3fff;
  if (bytes.size() < kDataAt + 10) {
    return std::nullopt;
  }
  const std::string_view kind = bytes.substr(kKindAt, 4);
  const std::string_view data = bytes.substr(kDataAt);
  if (kind == "VP8X") {
    return checked(little_endian(data, 4, 3) + 1, little_endian(data, 7, 3) + 1);
  }
  if (kind == "VP8L" && data[0] == '\x2f') {
    const std::uint32_t bits = little_endian(data, 1, 4);
    return checked((bits & kSideBits) + 1, ((bits >> 14U) & kSideBits) + 1);
  }
  if (kind == "VP8 " && data.substr(3, 3) == "\x9d\x01\x2a"sv) {
    return checked(little_endian(data, 6, 2) & kSideBits, little_endian(data, 8, 2) & kSideBits);
  }
  return std::nullopt;
}

// Of the markers C0 to CF, three do not begin a frame.
bool begins_frame(unsigned char marker) {
  return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

// Segments, each FF, a marker and its length, up to the one that begins the frame.
std::optional<ImageSize> jpeg_size(std::string_view bytes) {
  constexpr std::size_t kFrameBytes = 9;  // marker, length, precision, height, width
  std::size_t at = 2;
  while (at + kFrameBytes <= bytes.size() && bytes[at] == '\xff') {
    const auto marker = static_cast<unsigned char>(bytes[at + 1]);
    if (marker == 0xff) {  // padding
      ++at;
      continue;
    }
    if (begins_frame(marker)) {
      return checked(big_endian(bytes, at + 7, 2), big_endian(bytes, at + 5, 2));
    }
    const bool bare = marker == 0x01 || (marker >= 0xd0 && marker <= 0xd9);
    at += 2 + (bare ? 0 : big_endian(bytes, at + 2, 2));
  }
  return std::nullopt;
}

}  // namespace

std::optional<ImageSize> image_size(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG\r\n\x1a\n"sv)) {
    return png_size(bytes);
  }
  if (bytes.starts_with("\xff\xd8\xff"sv)) {
    return jpeg_size(bytes);
  }
  if (bytes.starts_with("GIF8"sv)) {
    return gif_size(bytes);
  }
  if (bytes.starts_with("RIFF"sv)) {
    return webp_size(bytes);
  }
  return std::nullopt;
}

bool is_whole_image(std::string_view bytes) {
  const auto has_after_head = [&](std::string_view mark) {
    const std::size_t at = bytes.rfind(mark);
    return at != std::string_view::npos && at > mark.size();
  };
  if (bytes.starts_with("\x89PNG"sv)) {
    return has_after_head("IEND\xae\x42\x60\x82"sv);
  }
  if (bytes.starts_with("\xff\xd8"sv)) {
    return has_after_head("\xff\xd9"sv);
  }
  if (bytes.starts_with("GIF8"sv)) {
    return has_after_head(";"sv);
  }
  constexpr std::size_t kRiffHead = 8;
  return bytes.starts_with("RIFF"sv) && bytes.size() >= kRiffHead &&
         bytes.size() - kRiffHead >= little_endian(bytes, 4, 4);
}

}  // namespace agentbox::mcp
