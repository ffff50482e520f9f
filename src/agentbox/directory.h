// edge: lists folders, deep or flat, in bounded time and memory.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "agentbox/outcome.h"
#include "agentbox/workspace.h"

namespace agentbox::mcp {

/// Entries one listing looks at; what lies beyond is not seen, and the listing says so.
inline constexpr std::size_t kMaxVisited = 200'000;

struct Entry {
  std::string path;     ///< relative to the folder listed, in bytes
  bool known = false;   ///< info is filled
  struct stat info {};  ///< of the entry itself, not of what a link leads to
};

struct Listing {
  std::vector<Entry> entries;  ///< in no order
  bool incomplete = false;     ///< kMaxVisited was reached, or a folder could not be read
  std::size_t unreadable = 0;  ///< folders below that could not be opened
};

struct ListRequest {
  std::size_t depth = 1;
  bool include_hidden = false;  ///< names that start with a dot; temporary files never show
  bool want_info = true;        ///< fill Entry::info of all; else only where depth needs it
  std::function<bool()> cancelled = [] { return false; };
};

/// What is in the open folder FOLDER. Links are listed and never followed, so loops end. Names of
/// writes in progress are left out.
[[nodiscard]] Listing list_folder(const UniqueFd& folder, const ListRequest& request);

/// Fills ENTRY's info, from the folder it was listed in. False where it is gone.
bool fill_info(const UniqueFd& folder, Entry& entry);

/// The target of the link at PATH below FOLDER, empty where it cannot be read.
[[nodiscard]] std::string link_target(const UniqueFd& folder, const std::string& path);

}  // namespace agentbox::mcp
