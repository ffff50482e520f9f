// edge: see leftovers.h.
#include "agentbox/leftovers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

#include "agentbox/box_path.h"
#include "agentbox/folder_names.h"
#include "base/handle.h"

namespace agentbox::mcp {
namespace {

// Deeper trees stay as they are: each level holds a descriptor.
constexpr std::size_t kMaxDepth = 256;

FolderNames open_names(int parent, const char* name) {
  return FolderNames(
      UniqueFd(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)));
}

// A folder without rights is ours all the same. Not by name: that would follow a link.
bool make_enterable(int parent, const char* name) {
  const UniqueFd folder(::openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  (void)::chmod(("/proc/self/fd/" + std::to_string(folder.get())).c_str(), 0700);
  return folder.valid();
}

// What to do with the entries of a tree, depth first. One object per walk.
class Visitor {
 public:
  virtual ~Visitor() = default;
  // For what is no folder.
  virtual void entry(int folder, const char* name) = 0;
  // After all in the folder NAME was visited.
  virtual void folder_done(int parent, const char* name) = 0;
  // Whether to go into it.
  virtual bool enters(int parent, const char* name) = 0;
};

struct Level {
  FolderNames names;
  std::string name;
};

void walk(int top, Visitor& visitor) {
  std::vector<Level> levels;
  levels.push_back({.names = open_names(top, "."), .name = "."});
  while (!levels.empty()) {
    FolderNames& names = levels.back().names;
    const dirent* const entry = names.ok() ? names.next() : nullptr;
    if (entry == nullptr) {
      const std::string name = std::move(levels.back().name);
      levels.pop_back();
      if (!levels.empty()) {
        visitor.folder_done(levels.back().names.folder(), name.c_str());
      }
      continue;
    }
    const int here = names.folder();
    struct stat info {};
    const bool known = ::fstatat(here, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0;
    if (known && S_ISDIR(info.st_mode)) {
      if (levels.size() < kMaxDepth && visitor.enters(here, entry->d_name)) {
        std::string name = entry->d_name;
        levels.push_back({.names = open_names(here, name.c_str()), .name = name});
      }
    } else {
      visitor.entry(here, entry->d_name);
    }
  }
}

class RemoveTemporaries : public Visitor {
 public:
  RemoveTemporaries(dev_t device, time_t before) : device_(device), before_(before) {}
  void entry(int folder, const char* name) override {
    struct stat info {};
    if (is_temporary_name(name) && ::fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(info.st_mode) && info.st_ctime < before_ && ::unlinkat(folder, name, 0) == 0) {
      ++removed_;
    }
  }
  void folder_done(int /*parent*/, const char* /*name*/) override {}
  bool enters(int parent, const char* name) override {
    struct stat info {};
    if (::fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) != 0 || info.st_dev != device_) {
      return false;
    }
    if (!is_temporary_name(name)) {
      return true;
    }
    if (info.st_ctime < before_ && make_enterable(parent, name)) {  // a copy cut short
      const UniqueFd copy(::openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      const bool emptied = empty_folder(copy.get()) == 0;
      removed_ += emptied && ::unlinkat(parent, name, AT_REMOVEDIR) == 0 ? 1U : 0U;
    }
    return false;
  }
  [[nodiscard]] std::size_t removed() const { return removed_; }

 private:
  dev_t device_;
  time_t before_;
  std::size_t removed_ = 0;
};

class RemoveAll : public Visitor {
 public:
  void entry(int folder, const char* name) override { count(::unlinkat(folder, name, 0)); }
  void folder_done(int parent, const char* name) override {
    count(::unlinkat(parent, name, AT_REMOVEDIR));
  }
  bool enters(int parent, const char* name) override { return make_enterable(parent, name); }
  [[nodiscard]] std::size_t failed() const { return failed_; }

 private:
  void count(int result) { failed_ += result == 0 ? 0U : 1U; }
  std::size_t failed_ = 0;
};

}  // namespace

std::size_t remove_temporaries(int folder, time_t before) {
  struct stat top {};
  if (::fstat(folder, &top) != 0) {
    return 0;
  }
  RemoveTemporaries visitor(top.st_dev, before);
  walk(folder, visitor);
  return visitor.removed();
}

std::size_t empty_folder(int folder) {
  RemoveAll visitor;
  walk(folder, visitor);
  return visitor.failed();
}

}  // namespace agentbox::mcp
