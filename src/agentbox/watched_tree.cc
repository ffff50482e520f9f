// pure: see watched_tree.h.
#include "agentbox/watched_tree.h"

namespace agentbox::mcp {

std::string path_of(const WatchedFolder& folder) {
  std::string path;
  for (const WatchedFolder* each = &folder; each->above != nullptr; each = each->above) {
    path = path.empty() ? each->name : each->name + "/" + path;
  }
  return path;
}

std::string path_in(const WatchedFolder& folder, const std::string& name) {
  const std::string path = path_of(folder);
  return path.empty() ? name : path + "/" + name;
}

std::vector<WatchedFolder*> folders_from(WatchedFolder& folder) {
  std::vector<WatchedFolder*> folders{&folder};
  for (std::size_t i = 0; i < folders.size(); ++i) {
    for (auto& [name, known] : folders[i]->names) {
      if (known.folder) {
        folders.push_back(known.folder.get());
      }
    }
  }
  return folders;
}

void set_depths(WatchedFolder& folder) {
  for (WatchedFolder* const each : folders_from(folder)) {
    each->depth = each->above == nullptr ? 0 : each->above->depth + 1;
  }
}

}  // namespace agentbox::mcp
