// edge: searches many files at once, in the order of their names, and stops as soon as it may.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "agentbox/text_search.h"
#include "agentbox/workspace.h"

namespace agentbox::mcp {

/// A match that spans lines is looked for in the whole text at once: longer files are left out.
inline constexpr std::uint64_t kMaxMultilineBytes = 64ULL << 20;

struct FileSearchRequest {
  TextSearch text = {};
  std::size_t max_results = 0;   ///< over all files; of the files after that none is looked at
  bool count_files = false;      ///< a result is a file that matches; else a matching line
  std::size_t max_per_file = 0;  ///< matching lines; 0: no bound
  std::uint64_t max_file_bytes = 0;
  std::chrono::steady_clock::time_point deadline;
  std::function<bool()> cancelled;  ///< asked by several threads
};

struct SearchedFile {
  std::size_t index = 0;  ///< of FILES
  std::vector<LineMatch> matches;
};

struct FileSearchResult {
  std::vector<SearchedFile> files;  ///< those that match, in the order given
  std::size_t searched = 0;
  std::size_t binary = 0;      ///< left out: they hold a NUL byte
  std::size_t too_large = 0;   ///< left out
  std::size_t unreadable = 0;  ///< left out: gone, no regular file, or closed to us
  bool timed_out = false;
  bool stopped = false;  ///< a bound was reached, so there may be more
};

/// Looks through FILES of WORKSPACE. What is found up to max_results is the same however many
/// threads there were.
[[nodiscard]] FileSearchResult search_files(const Workspace& workspace,
                                            const std::vector<BoxPath>& files,
                                            const FileSearchRequest& request);

}  // namespace agentbox::mcp
