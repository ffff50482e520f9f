// pure: takes out what programs send to colour a terminal and move its cursor.
#pragma once

#include <string>
#include <string_view>

namespace agentbox::mcp {

/// BYTES without the escape sequences of ECMA-48: CSI (colours, cursor), OSC and the other strings
/// (window titles, links), and those of two or three bytes. A sequence that BYTES end in the middle
/// of is left out too. All other bytes stay as they are, UTF-8 or not.
[[nodiscard]] std::string strip_ansi(std::string_view bytes);

}  // namespace agentbox::mcp
