// edge: see folder_names.h.
#include "agentbox/folder_names.h"

#include <string_view>

namespace agentbox::mcp {

FolderNames::FolderNames(UniqueFd folder) {
  if (folder.valid()) {
    dir_.reset(::fdopendir(folder.get()));
  }
  if (dir_ != nullptr) {
    (void)folder.release();
  }
}

const dirent* FolderNames::next() {
  for (;;) {
    const dirent* const entry =
        ::readdir(dir_.get());  // NOLINT(concurrency-mt-unsafe): this DIR is ours alone
    if (entry == nullptr) {
      return nullptr;
    }
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") {
      return entry;
    }
  }
}

}  // namespace agentbox::mcp
