// pure: the folders of a watched tree and the names known in them.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agentbox/tree_diff.h"

namespace agentbox::mcp {

struct WatchedFolder;

struct WatchedName {
  FileState state = {};
  bool shown = true;                                ///< to the caller
  std::unique_ptr<WatchedFolder> folder = nullptr;  ///< of a folder that is watched too
};

struct WatchedFolder {
  WatchedFolder* above = nullptr;  ///< null: the top
  std::string name = {};
  FileState state = {};
  std::size_t depth = 0;
  int watch = -1;     ///< the kernel's number for it
  bool gone = false;  ///< no longer part of the tree
  std::map<std::string, WatchedName, std::less<>> names = {};
};

/// The path of NAME in FOLDER, from the top.
[[nodiscard]] std::string path_in(const WatchedFolder& folder, const std::string& name);
/// The path of FOLDER itself; empty: the top.
[[nodiscard]] std::string path_of(const WatchedFolder& folder);
/// FOLDER and all below it, each after the one it lies in.
[[nodiscard]] std::vector<WatchedFolder*> folders_from(WatchedFolder& folder);
/// Sets the depths of FOLDER and all below it, FOLDER having got another place.
void set_depths(WatchedFolder& folder);

}  // namespace agentbox::mcp
