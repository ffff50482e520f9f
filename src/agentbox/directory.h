// edge: lists folders, deep or flat, in bounded time and memory.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "agentbox/ignore_rules.h"
#include "agentbox/outcome.h"
#include "agentbox/workspace.h"

namespace agentbox::mcp {

/// Entries one listing looks at; what lies beyond is not seen, and the listing says so.
inline constexpr std::size_t kMaxVisited = 200'000;

struct Entry {
  std::string path;    ///< relative to the folder listed, in bytes
  bool known = false;  ///< info is filled
  bool is_folder = false;
  struct stat info {};  ///< of the entry itself, not of what a link leads to
};

struct Listing {
  std::vector<Entry> entries;  ///< in no order
  bool incomplete = false;     ///< max_visited was reached, or a folder could not be read
  bool all_visited = true;     ///< max_visited was not reached
  std::size_t unreadable = 0;  ///< folders below that could not be opened
};

/// A .gitignore above the folder listed: its rules, and the way down from it ("" or "a/b/").
struct IgnoreAbove {
  IgnoreRules rules;
  std::string way;
};

struct ListRequest {
  std::size_t depth = 1;
  bool include_hidden = false;  ///< names that start with a dot; temporary files never show
  bool want_info = true;        ///< fill Entry::info of all; else only where depth needs it
  bool respect_ignore = false;  ///< leave out what a .gitignore of its folder or above names
  std::vector<IgnoreAbove> ignore_above = {};  ///< outermost first
  std::size_t max_visited = kMaxVisited;
  /// Which of the entries met are wanted; folders are entered all the same.
  std::function<bool(const Entry&)> wanted = [](const Entry&) { return true; };
  std::function<bool()> cancelled = [] { return false; };
};

/// What is in the open folder FOLDER. Links are listed and never followed, so loops end. Names of
/// writes in progress are left out.
[[nodiscard]] Listing list_folder(const UniqueFd& folder, const ListRequest& request);

/// The rules of the .gitignore files in the workspace's folders above PATH.
[[nodiscard]] std::vector<IgnoreAbove> find_ignore_above(const Workspace& workspace,
                                                         const BoxPath& path);

/// Opens the folder PATH (empty: itself) below FOLDER; no part of it may be a link. Not valid where
/// that fails, errno saying why.
[[nodiscard]] UniqueFd open_below(const UniqueFd& folder, const std::string& path);

/// Fills ENTRY's info, from the folder it was listed in. False where it is gone.
bool fill_info(const UniqueFd& folder, Entry& entry);

/// The target of the link at PATH below FOLDER, empty where it cannot be read.
[[nodiscard]] std::string link_target(const UniqueFd& folder, const std::string& path);

}  // namespace agentbox::mcp
