// edge: the only door to the box's files: every path a tool is given is opened here or nowhere.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agentbox/beneath.h"
#include "agentbox/box_path.h"
#include "agentbox/outcome.h"
#include "base/handle.h"
#include "base/result.h"

namespace agentbox::mcp {

/// A file or folder that was opened, and what it was then.
struct Opened {
  UniqueFd fd = {};
  struct stat info {};
  std::string shown = {};  ///< its path for people
};

/// The name a write goes to: a folder held open and a name in it that is no link.
struct Leaf {
  UniqueFd folder;  ///< O_PATH
  std::string name;
  std::string relative;  ///< the path that leads there, links of the last name resolved
  bool exists = false;
  struct stat info {};  ///< where it exists
};

/// Folders that a write had to make, so that they can go again when the write fails.
class MadeFolders {
 public:
  void add(UniqueFd parent, std::string name) {
    made_.push_back({std::move(parent), std::move(name)});
  }
  void sync() const;
  void undo();
  [[nodiscard]] std::size_t count() const { return made_.size(); }

 private:
  struct Made {
    UniqueFd parent;
    std::string name;
  };
  std::vector<Made> made_;
};

class Workspace {
 public:
  struct Options {
    std::string workspace = {};
    std::string output = {};                      ///< empty: none
    std::optional<KernelFeatures> features = {};  ///< not given: probed
  };
  /// Opens the folders; both must exist. Call it before there are threads.
  [[nodiscard]] static Result<std::unique_ptr<Workspace>> open(const Options& options);

  /// The path argument GIVEN.
  [[nodiscard]] Outcome<BoxPath> parse(std::string_view given) const {
    return parse_box_path(given, names_);
  }
  [[nodiscard]] std::string show(const BoxPath& path) const { return show_path(path, names_); }

  /// Opens a regular file for reading. FIFOs, devices and sockets are refused without being opened,
  /// folders with EISDIR.
  [[nodiscard]] Outcome<Opened> open_file(const BoxPath& path) const;
  /// Opens a folder for listing (or as a working directory).
  [[nodiscard]] Outcome<Opened> open_folder(const BoxPath& path) const;
  /// Opens whatever is there with O_PATH, the last link followed.
  [[nodiscard]] Result<UniqueFd> open_entry(const BoxPath& path) const;
  /// The same, a link at the end being opened itself.
  [[nodiscard]] Result<UniqueFd> open_name(const BoxPath& path) const;

  /// The error of writing to PATH where that is in the output folder.
  [[nodiscard]] std::optional<ToolError> refuse_output(const BoxPath& path) const;

  /// Makes the folder PATH and those above it that are missing; false where it is there already.
  /// MODE holds as it is where EXACT, else less the umask.
  [[nodiscard]] Outcome<bool> create_folder(const BoxPath& path, mode_t mode, bool exact) const;

  /// Where a write to PATH goes, links that stay inside followed. Missing folders are made and
  /// noted in MADE where that is given. Paths into the output folder are refused.
  [[nodiscard]] Outcome<Leaf> find_leaf(const BoxPath& path, MadeFolders* made) const;

  /// The name PATH itself, whatever is there; a link at its end is not followed. For what takes
  /// names away or gives them. ROOT_REFUSED: the workspace itself.
  [[nodiscard]] Outcome<Leaf> find_name(const BoxPath& path, MadeFolders* made) const;
  /// Removes the folder of RELATIVE (a path as a Leaf has it) and those above it, COUNT in all, as
  /// far as they are empty.
  void remove_empty_folders(const std::string& relative, std::size_t count) const;
  /// True where PATH still leads to the file INFO, a link at its end not followed.
  [[nodiscard]] bool leads_to(const BoxPath& path, const struct stat& info) const;

  /// Held over a write, so that two calls of this session do not interleave on one name.
  [[nodiscard]] std::unique_lock<std::mutex> lock_name(const Leaf& leaf) const;
  /// The same for two names at once.
  struct TwoLocks {
    std::unique_lock<std::mutex> first;
    std::unique_lock<std::mutex> second;
  };
  [[nodiscard]] TwoLocks lock_names(const Leaf& a, const Leaf& b) const;
  /// The same for many names, each in a folder that is open.
  using FolderName = std::pair<int, std::string>;
  [[nodiscard]] std::vector<std::unique_lock<std::mutex>> lock_names(
      const std::vector<FolderName>& names) const;

  [[nodiscard]] const RootNames& names() const { return names_; }
  [[nodiscard]] const KernelFeatures& features() const { return features_; }
  /// The output folder, or -1. Borrowed.
  [[nodiscard]] int output_folder() const { return output_ ? output_->folder() : -1; }
  [[nodiscard]] int folder() const { return workspace_.folder(); }
  /// The process's umask when the workspace was opened (asking later would race with other
  /// threads).
  [[nodiscard]] mode_t umask_bits() const { return umask_bits_; }

 private:
  // More would not make collisions rarer than 64 calls in flight can notice.
  static constexpr std::size_t kLocks = 64;

  Workspace(Beneath workspace, std::optional<Beneath> output, RootNames names,
            KernelFeatures features)
      : workspace_(std::move(workspace)),
        output_(std::move(output)),
        names_(std::move(names)),
        features_(features) {}
  [[nodiscard]] const Beneath& root(const BoxPath& path) const;
  [[nodiscard]] Outcome<UniqueFd> open_parent(const std::string& relative, MadeFolders* made) const;
  [[nodiscard]] Outcome<Opened> open_checked(const BoxPath& path, mode_t type) const;
  [[nodiscard]] Outcome<bool> create_last(const BoxPath& path, mode_t mode, bool exact,
                                          MadeFolders& made) const;
  [[nodiscard]] std::mutex& lock_of(int folder, const std::string& name) const;
  [[nodiscard]] ToolError refuse_dots(const BoxPath& path) const;

  Beneath workspace_;
  std::optional<Beneath> output_;
  RootNames names_;
  KernelFeatures features_;
  mode_t umask_bits_ = 022;
  mutable std::array<std::mutex, kLocks> locks_;
};

/// PATH from the workspace's root, or its absolute name in the output folder: bytes that every path
/// argument takes once they are quoted. Empty for the root itself.
[[nodiscard]] std::string path_from_root(const Workspace& workspace, const BoxPath& path);

/// The same for a folder, with a slash at the end where names can follow it.
[[nodiscard]] std::string folder_prefix(const Workspace& workspace, const BoxPath& path);

}  // namespace agentbox::mcp
