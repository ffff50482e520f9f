// pure: what a file most likely holds, by its first bytes and its name.
#pragma once

#include <string_view>

namespace agentbox::mcp {

/// Of the first bytes of a file, this many are worth looking at.
inline constexpr std::size_t kMimeBytes = 512;

/// A media type: by the bytes where they have a mark of their own, else by the name's ending where
/// the bytes are text, else text/plain or application/octet-stream.
[[nodiscard]] std::string_view mime_type(std::string_view name, std::string_view first_bytes);

}  // namespace agentbox::mcp
