// edge: a file that gets its name only once it is complete.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>
#include <utility>

#include "agentbox/beneath.h"
#include "base/handle.h"
#include "base/result.h"

namespace agentbox::mcp {

/// What became of the name that a new file was meant to get.
enum class Naming {
  kDone,
  kTaken,     ///< it was to be free and is not
  kReplaced,  ///< it no longer names the file it was to replace
};

/// A new file in one folder. Unless put() gave it its name nothing of it stays.
class NewFile {
 public:
  /// In FOLDER (borrowed for its life): unnamed where FEATURES and the file system allow, else
  /// under a random temporary name. Mode 0600. Errors carry the errno.
  [[nodiscard]] static Result<NewFile> create(int folder, const KernelFeatures& features);
  /// The file FD that lies in FOLDER under the temporary name TEMPORARY.
  [[nodiscard]] static NewFile adopt(int folder, UniqueFd fd, std::string temporary) {
    return {folder, std::move(fd), std::move(temporary)};
  }
  NewFile(NewFile&& other) noexcept
      : folder_(other.folder_),
        fd_(std::move(other.fd_)),
        temporary_(std::exchange(other.temporary_, {})) {}
  NewFile& operator=(NewFile&&) = delete;
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() { remove_temporary(); }

  /// Opened for reading and writing. Borrowed.
  [[nodiscard]] int fd() const { return fd_.get(); }

  /// Makes NAME refer to this file. Where OLD is null the name must be free, else it must still be
  /// that file, which is replaced in one step.
  [[nodiscard]] Result<Naming> put(const std::string& name, const struct stat* old);

  /// Leaves the file under its temporary name, which is returned; empty where it has none.
  [[nodiscard]] std::string leave() { return std::exchange(temporary_, {}); }

 private:
  NewFile(int folder, UniqueFd fd, std::string temporary)
      : folder_(folder), fd_(std::move(fd)), temporary_(std::move(temporary)) {}
  void remove_temporary();

  int folder_;
  UniqueFd fd_;
  std::string temporary_;  // its name while that is a temporary one
};

/// A name for something unfinished, never met twice and never guessed.
[[nodiscard]] std::string random_name(std::string_view prefix);

/// Moves a name, of a folder too, to one that is free: 0, EEXIST or another errno.
[[nodiscard]] int rename_to_free_name(int from_folder, const std::string& from, int to_folder,
                                      const std::string& to);

[[nodiscard]] bool same_file(const struct stat& a, const struct stat& b);

/// True where NAME in FOLDER is the file EXPECTED, not a link to it.
[[nodiscard]] bool names_file(int folder, const std::string& name, const struct stat& expected);

/// Gives FD the owner and group of OLD as far as the kernel lets us, and MODE. A set-id bit is
/// taken out of MODE where its owner or group could not be kept: it would hand out somebody else's
/// rights. 0 or an errno.
[[nodiscard]] int take_owner(int fd, const struct stat& old, mode_t& mode);

/// Copies what users set on the file FROM: user.* attributes and its access list, as far as both
/// file systems have such. File capabilities stay behind: the kernel drops them at a write too.
void copy_attributes(int from, int to);

/// Syncs the folder FOLDER (O_PATH will do), so that names made or gone in it stay so.
void sync_folder(int folder);

}  // namespace agentbox::mcp
