// edge: the last lines of a box's logs, safe to look at on a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "provision/answer.h"
#include "provision/paths.h"
#include "provision/report.h"

namespace agentbox::provision {

/// The end of one log. What it holds may have been written by anybody.
struct LogTail {
  std::string title;    ///< door, box or audit
  std::string where;    ///< where it lies
  std::string text;     ///< whole lines, more than will be shown
  std::string problem;  ///< why there is none, in words; empty: there may be none
};

/// Those of the box at PATHS, on this machine.
[[nodiscard]] std::vector<LogTail> tails_here(const BoxPaths& paths);

/// The last LINES lines of each of LOGS, escaped.
[[nodiscard]] Report logs_report(const std::string& name, const std::vector<LogTail>& logs,
                                 std::uint64_t lines);

}  // namespace agentbox::provision
