// pure: the blocks of a tool's result that are more than plain text, and how each revision takes
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agentbox/protocol.h"
#include "base/json.h"

namespace agentbox::mcp {

/// One content block. Bytes are raw here; they are encoded on the way out.
struct ContentBlock {
  enum class Kind { kText, kImage, kAudio, kResource, kLink };
  Kind kind = Kind::kText;
  std::string bytes = {};                  ///< the text, or the content; none of a link
  std::string mime_type = {};              ///< of everything but a text
  std::string uri = {};                    ///< of a resource or link
  std::string name = {};                   ///< of a link
  std::optional<std::uint64_t> size = {};  ///< of what a link leads to, where it is known
};

[[nodiscard]] OrderedJson text_block(std::string text);
/// BLOCK for a client of VERSION. What that revision does not know becomes a text that says what
/// it would have been.
[[nodiscard]] OrderedJson render_block(const ContentBlock& block, Version version);

}  // namespace agentbox::mcp
