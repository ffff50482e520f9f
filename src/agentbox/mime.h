// pure: what a file most likely holds, by its first bytes and its name.
#pragma once

#include <cstddef>
#include <string_view>

namespace agentbox::mcp {

/// Of the first bytes of a file, this many are worth looking at.
inline constexpr std::size_t kMimeBytes = 512;

/// A media type: by the bytes where they have a mark of their own, else by the name's ending among
/// the types that fit (of text, or of bytes that are none), else text/plain or
/// application/octet-stream.
[[nodiscard]] std::string_view mime_type(std::string_view name, std::string_view first_bytes);

/// True for a TYPE that mime_type() says of text only.
[[nodiscard]] bool is_text_type(std::string_view type);

/// UTF-8 without a NUL.
[[nodiscard]] bool is_plain_text(std::string_view bytes);

}  // namespace agentbox::mcp
