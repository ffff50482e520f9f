// edge: pseudo-terminals for commands; the protocol's own channel never is one.
#pragma once

#include <cstdint>

#include "base/handle.h"
#include "base/result.h"

namespace agentbox::mcp {

/// What a terminal's reader sends for the end of input.
inline constexpr char kTerminalEnd = '\x04';

/// First is the keeper's side and does not block; second becomes the command's.
[[nodiscard]] Result<FdPair> make_terminal(std::uint32_t columns, std::uint32_t rows);

[[nodiscard]] Status resize_terminal(int terminal, std::uint32_t columns, std::uint32_t rows);

}  // namespace agentbox::mcp
