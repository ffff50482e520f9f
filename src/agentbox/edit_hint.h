// pure: tells why a text was not found: the lines that come closest to it.
#pragma once

#include <string>
#include <string_view>

namespace agentbox::mcp {

/// One sentence for the caller whose WANTED text does not occur in TEXT: lines that differ from it
/// in white space or kinds of quotes only, else the line most like its first one. Shows at most a
/// few hundred bytes of TEXT, escaped. Looks at a bounded part of very large texts.
[[nodiscard]] std::string hint_for_missing(std::string_view text, std::string_view wanted);

}  // namespace agentbox::mcp
