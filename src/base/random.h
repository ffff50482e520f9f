// edge: random names, from the kernel.
#pragma once

#include <cstddef>
#include <string>

namespace agentbox {

/// BYTES random bytes in hex. Aborts where the kernel has no randomness.
[[nodiscard]] std::string random_hex(std::size_t bytes);

}  // namespace agentbox
