// edge: the last lines of a box's logs, safe to look at on a terminal.
#pragma once

#include <cstdint>

#include "provision/answer.h"
#include "provision/paths.h"
#include "provision/report.h"

namespace agentbox::provision {

/// The last LINES lines of each log of the box at PATHS.
[[nodiscard]] Report last_lines(const BoxPaths& paths, const std::string& name,
                                std::uint64_t lines);

}  // namespace agentbox::provision
