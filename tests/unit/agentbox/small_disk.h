// edge: a file system of a few hundred KiB, which only root can mount.
#pragma once

#include <sys/mount.h>

#include <string>

namespace agentbox::test {

class SmallDisk {
 public:
  /// Over the folder PATH, which exists.
  explicit SmallDisk(std::string path)
      : path_(std::move(path)),
        mounted_(::mount("tmpfs", path_.c_str(), "tmpfs", 0, "size=256k") == 0) {}
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    if (mounted_) {
      (void)::umount2(path_.c_str(), MNT_DETACH);
    }
  }
  [[nodiscard]] bool mounted() const { return mounted_; }

 private:
  std::string path_;
  bool mounted_;
};

}  // namespace agentbox::test
