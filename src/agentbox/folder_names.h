// edge: the names in an open folder, one after the other.
#pragma once

#include <dirent.h>

#include <memory>

#include "base/handle.h"

namespace agentbox::mcp {

class FolderNames {
 public:
  /// Of FOLDER, freshly opened for reading. Check ok() first; errno tells why not, that of the open
  /// where FOLDER is not valid.
  explicit FolderNames(UniqueFd folder);

  [[nodiscard]] bool ok() const { return dir_ != nullptr; }
  /// The next one, "." and ".." left out; null after the last. Good until the next call.
  [[nodiscard]] const dirent* next();
  /// The descriptor, for calls on what is named. Borrowed.
  [[nodiscard]] int folder() const { return ::dirfd(dir_.get()); }

 private:
  struct Close {
    void operator()(DIR* dir) const { (void)::closedir(dir); }
  };
  std::unique_ptr<DIR, Close> dir_;
};

}  // namespace agentbox::mcp
