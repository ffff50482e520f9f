// edge: see spill.h.
#include "agentbox/spill.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/random.h"

namespace agentbox::mcp {
namespace {

constexpr std::string_view kPrefix = "shell-";
constexpr std::size_t kRandomBytes = 16;

struct CloseDir {
  void operator()(DIR* dir) const { (void)::closedir(dir); }
};

struct SpillFile {
  std::string name;
  std::uint64_t size = 0;
  timespec changed{};
};

std::vector<SpillFile> list_spills(int folder) {
  std::vector<SpillFile> files;
  UniqueFd copy(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, CloseDir> dir(copy.valid() ? ::fdopendir(copy.get()) : nullptr);
  if (dir == nullptr) {
    return files;
  }
  (void)copy.release();
  while (const dirent* entry =
             ::readdir(dir.get())) {  // NOLINT(concurrency-mt-unsafe): this DIR is ours alone
    struct stat info {};
    const std::string_view name = entry->d_name;
    if (name.starts_with(kPrefix) &&
        ::fstatat(folder, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(info.st_mode)) {
      files.push_back({.name = std::string(name),
                       .size = static_cast<std::uint64_t>(info.st_size),
                       .changed = info.st_mtim});
    }
  }
  return files;
}

}  // namespace

void prune_spills(int folder) {
  std::vector<SpillFile> files = list_spills(folder);
  std::sort(files.begin(), files.end(), [](const SpillFile& a, const SpillFile& b) {
    return a.changed.tv_sec != b.changed.tv_sec ? a.changed.tv_sec < b.changed.tv_sec
                                                : a.changed.tv_nsec < b.changed.tv_nsec;
  });
  std::uint64_t bytes = 0;
  for (const SpillFile& file : files) {
    bytes += file.size;
  }
  std::size_t left = files.size();
  for (const SpillFile& file : files) {
    if (left < kMaxSpillFiles && bytes + kMaxSpillBytes <= kMaxSpillFolderBytes) {
      return;
    }
    (void)::unlinkat(folder, file.name.c_str(), 0);
    bytes -= file.size;
    --left;
  }
}

void Spill::add(std::string_view bytes) {
  if (opened_) {
    write(bytes);
  } else if (folder_ >= 0) {
    pending_.append(bytes);
  }
}

void Spill::open() {
  if (opened_ || folder_ < 0) {
    return;
  }
  opened_ = true;
  prune_spills(folder_);
  const std::string name = std::string(kPrefix) + random_hex(kRandomBytes) + ".txt";
  file_.reset(::openat(folder_, name.c_str(),
                       O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_APPEND | O_CLOEXEC, 0600));
  if (file_.valid()) {
    path_ = folder_name_ + "/" + name;
  }
  write(std::exchange(pending_, {}));
}

void Spill::write(std::string_view bytes) {
  const std::string_view fits = bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(
                                                    bytes.size(), kMaxSpillBytes - written_)));
  if (dropped_ > 0 || !file_.valid() || !write_all(file_.get(), fits).ok()) {
    dropped_ += bytes.size();  // a file with holes would mislead: from here on nothing more is kept
    return;
  }
  written_ += fits.size();
  dropped_ += bytes.size() - fits.size();
}

}  // namespace agentbox::mcp
