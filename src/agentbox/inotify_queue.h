// edge: the kernel's queue of notices about folders.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/handle.h"
#include "base/result.h"

namespace agentbox::mcp {

struct Notice {
  int watch = -1;
  std::string name = {};  ///< in the folder; empty: the folder itself
  bool written = false;   ///< its content was
  bool renamed = false;   ///< it came or went by a rename
  bool ended = false;     ///< the folder is gone, and the watch with it
  bool lost = false;      ///< the queue was full: whatever was noticed then is not known
};

class InotifyQueue {
 public:
  /// Not valid where the kernel has none, or none for us.
  [[nodiscard]] static InotifyQueue open();
  /// Never gives a notice.
  InotifyQueue() = default;

  [[nodiscard]] bool valid() const { return queue_.valid(); }
  /// Readable where there are notices. Borrowed.
  [[nodiscard]] int fd() const { return queue_.get(); }
  void close() { queue_.reset(); }

  /// Watches the open folder FOLDER (by its descriptor: a name may lead elsewhere). The errno is
  /// ENOSPC where no more folders can be watched.
  [[nodiscard]] Result<int> add(int folder) const;
  void remove(int watch) const;
  /// Appends what there is. False where there may be more.
  bool read(std::vector<Notice>& notices) const;

 private:
  UniqueFd queue_;
};

}  // namespace agentbox::mcp
