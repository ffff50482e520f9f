// edge: what changes in one tree of the workspace, or to one file: a descriptor to poll and changes
// to take. The kernel's notices say where to look; what is told is the difference between what was
// known and what is there. Without notices everything is looked at from time to time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agentbox/file_change.h"
#include "agentbox/inotify_queue.h"
#include "agentbox/outcome.h"
#include "agentbox/watch_filter.h"
#include "agentbox/watched_tree.h"
#include "agentbox/workspace.h"

namespace agentbox::mcp {

/// Folders of one watch: what the kernel lends one user is a few times that.
inline constexpr std::size_t kMaxWatchedFolders = 10'000;
/// Names known in them: each takes about 200 bytes.
inline constexpr std::size_t kMaxWatchedNames = 200'000;
/// Folders within folders; a loop of renames cannot make paths without end.
inline constexpr std::size_t kMaxWatchedDepth = 128;

class TreeWatch {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Options {
    bool recursive = true;
    WatchFilter filter = {};
    /// Changes are gathered this long after the first, and merged name by name.
    std::chrono::milliseconds debounce{300};
    bool use_inotify = true;
    /// Without notices: between two looks, and at least ten times as long as a look takes.
    std::chrono::milliseconds scan_interval{1000};
    std::size_t max_folders = kMaxWatchedFolders;
    std::size_t max_names = kMaxWatchedNames;
  };

  /// Watches PATH, a folder or a file; WORKSPACE is borrowed for its life. WATCH_LIMIT where the
  /// tree is too large.
  [[nodiscard]] static Outcome<std::unique_ptr<TreeWatch>> open(const Workspace& workspace,
                                                                const BoxPath& path,
                                                                Options options);
  TreeWatch(const TreeWatch&) = delete;
  TreeWatch& operator=(const TreeWatch&) = delete;
  ~TreeWatch() = default;

  /// Readable where take() has something to do; -1: only deadline() says when.
  [[nodiscard]] int fd() const { return queue_.fd(); }
  /// When take() wants to be called at the latest.
  [[nodiscard]] TimePoint deadline() const;
  /// Appends the changes of windows that are over.
  void take(TimePoint now, std::vector<FileChange>& changes);
  /// Appends all changes up to now, without waiting for a window to end. Without notices this looks
  /// at everything.
  void take_all(TimePoint now, std::vector<FileChange>& changes);

  /// The folder that the changes' paths are relative to.
  [[nodiscard]] const BoxPath& top() const { return top_path_; }
  /// The name in it, where one file is watched; else empty.
  [[nodiscard]] const std::string& only_name() const { return only_; }
  [[nodiscard]] bool has_notices() const { return queue_.valid(); }
  /// Set once the tree has outgrown the limits: there are no more changes.
  [[nodiscard]] const std::optional<ToolError>& ended() const { return ended_; }
  [[nodiscard]] std::size_t folder_count() const { return folder_count_; }

 private:
  // What the kernel said of one name.
  struct Hint {
    bool written = false;
    bool renamed = false;
    std::uint64_t order = 0;
    std::int64_t at_ms = 0;
  };
  // The names of a folder to look at.
  struct Dirty {
    bool all = false;  // every name, known or there
    int tries = 0;     // it was not where it should be
    std::map<std::string, Hint, std::less<>> names = {};
  };
  using DirtyFolders = std::map<WatchedFolder*, Dirty>;
  struct News;  // one round of settling

  TreeWatch(const Workspace& workspace, Options options)
      : workspace_(workspace), options_(std::move(options)) {}

  [[nodiscard]] std::optional<ToolError> find_top(const BoxPath& path);
  [[nodiscard]] std::optional<ToolError> open_top(std::vector<FileChange>* created);
  void check_top(TimePoint now, std::vector<FileChange>& changes);
  void lose_top(std::vector<FileChange>& changes);

  [[nodiscard]] TimePoint scan_due() const;
  bool gather(TimePoint now);
  void note(const Notice& notice);
  void hint(WatchedFolder& folder, const std::string& name, const Notice& notice);
  void scan(std::vector<FileChange>& changes);
  void settle(TimePoint now, std::vector<FileChange>& changes);
  void settle_round(std::vector<FileChange>& changes);
  void make_all_dirty();

  void look(WatchedFolder& folder, Dirty dirty, News& news);
  void look_at(WatchedFolder& folder, int fd, const std::string& path, const std::string& name,
               const Hint& hint, News& news);
  void watch_again(WatchedFolder& folder);
  void unmatch_folders(News& news) const;
  void apply_losses(News& news);
  void apply_finds(News& news);
  void place_folder(News& news, std::size_t index, WatchedName& name);

  [[nodiscard]] UniqueFd open_folder(const WatchedFolder& folder) const;
  [[nodiscard]] bool is_tracked(const std::string& path, const FileState& state) const;
  [[nodiscard]] bool is_entered(const std::string& path, const FileState& state) const;
  [[nodiscard]] std::unique_ptr<WatchedFolder> make_folder(WatchedFolder* above,
                                                           const std::string& name,
                                                           const FileState& state);
  void enter(WatchedFolder& folder, std::vector<FileChange>* created);
  void enter_one(WatchedFolder& folder, int fd, std::vector<FileChange>* created,
                 std::vector<WatchedFolder*>& below);
  void watch(WatchedFolder& folder, int fd);
  void drop(WatchedFolder& folder, bool told, std::int64_t at_ms, std::vector<FileChange>& changes);
  void stop_notices();
  void end(std::string message);

  const Workspace& workspace_;
  Options options_;
  BoxPath top_path_;
  std::string only_;
  UniqueFd top_fd_;
  std::unique_ptr<WatchedFolder> top_;  // null: it is not there now
  InotifyQueue queue_;
  std::map<int, WatchedFolder*> by_watch_;
  std::size_t folder_count_ = 0;
  std::size_t name_count_ = 0;
  DirtyFolders dirty_;
  std::size_t hints_ = 0;
  std::uint64_t next_order_ = 1;
  bool lost_ = false;  // the kernel's queue was full
  std::optional<TimePoint> window_end_;
  TimePoint next_check_{};
  TimePoint scanned_{};  // the last look at everything: its end, and how long it took
  std::chrono::steady_clock::duration scan_time_{};
  std::optional<ToolError> ended_;
};

}  // namespace agentbox::mcp
