// edge: see tree_watch.h. Here: when things are looked at, and where the tree begins.
#include "agentbox/tree_watch.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "agentbox/file_states.h"
#include "agentbox/job_folder.h"
#include "agentbox/os_error.h"

namespace agentbox::mcp {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// How often the path is asked whether it still leads to what is watched.
constexpr milliseconds kCheckInterval{1000};
// Names that are remembered one by one; beyond that everything is looked at.
constexpr std::size_t kMaxHints = 100'000;
// A folder that is renamed while we look is found in the next round.
constexpr int kRounds = 4;
// Of what the kernel keeps for us, which is a few of them; a flood is not waited for.
constexpr int kGatherings = 16;
// Before another try at folders that were not where they should be.
constexpr milliseconds kLeastPause{100};

// The folder part of a path as a Leaf has it.
std::string folder_of(const std::string& relative) {
  const std::size_t slash = relative.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "." : relative.substr(0, slash);
}

}  // namespace

Outcome<std::unique_ptr<TreeWatch>> TreeWatch::open(const Workspace& workspace, const BoxPath& path,
                                                    Options options) {
  std::unique_ptr<TreeWatch> watch(
      new TreeWatch(workspace, std::move(options)));  // NOLINT(cppcoreguidelines-owning-memory)
  if (auto error = watch->find_top(path)) {
    return *std::move(error);
  }
  if (watch->options_.use_inotify && workspace.features().inotify) {
    watch->queue_ = InotifyQueue::open();
  }
  const auto begun = steady_clock::now();
  if (auto error = watch->open_top(nullptr)) {
    return *std::move(error);
  }
  watch->scanned_ = steady_clock::now();
  watch->scan_time_ = watch->scanned_ - begun;
  watch->next_check_ = watch->scanned_ + kCheckInterval;
  if (watch->ended_) {
    return *watch->ended_;
  }
  return watch;
}

std::optional<ToolError> TreeWatch::find_top(const BoxPath& path) {
  const std::string shown = workspace_.show(path);
  if (path.root != Root::kWorkspace) {
    return ToolError{.code = "INVALID_ARGUMENT",
                     .message = shown + " is in the folder of command output",
                     .hint = "Follow it with process_output or tail_log",
                     .path = shown};
  }
  const auto entry = workspace_.open_entry(path);
  if (!entry.ok()) {
    return os_error(shown, entry.error());
  }
  struct stat info {};
  if (::fstat(entry->get(), &info) != 0) {
    return os_error("stat", shown, errno);
  }
  if (S_ISDIR(info.st_mode)) {
    top_path_ = path;
    return std::nullopt;
  }
  auto leaf = workspace_.find_leaf(path, nullptr);
  if (!leaf.ok()) {
    return std::move(leaf).error();
  }
  // A file's name is watched in its folder: another file may take it.
  top_path_ = {.root = Root::kWorkspace, .relative = folder_of(leaf->relative)};
  only_ = leaf->name;
  options_.recursive = false;
  options_.filter = {};
  return std::nullopt;
}

std::optional<ToolError> TreeWatch::open_top(std::vector<FileChange>* created) {
  auto opened = workspace_.open_folder(top_path_);
  if (!opened.ok()) {
    return std::move(opened).error();
  }
  top_fd_ = std::move(opened->fd);
  top_ = make_folder(nullptr, "", state_of_stat(opened->info));
  if (created != nullptr && only_.empty()) {
    created->push_back({.op = ChangeOp::kCreate, .type = type_of(top_->state), .at_ms = now_ms()});
  }
  enter(*top_, created);
  return std::nullopt;
}

void TreeWatch::lose_top(std::vector<FileChange>& changes) {
  if (only_.empty()) {
    changes.push_back({.op = ChangeOp::kDelete, .type = type_of(top_->state), .at_ms = now_ms()});
  }
  drop(*top_, only_.empty(), now_ms(), changes);
  top_.reset();
  top_fd_.reset();
  dirty_.clear();
  hints_ = 0;
  window_end_.reset();
}

void TreeWatch::check_top(TimePoint now, std::vector<FileChange>& changes) {
  next_check_ = now + kCheckInterval;
  const auto entry = workspace_.open_entry(top_path_);
  struct stat info {};
  const bool there = entry.ok() && ::fstat(entry->get(), &info) == 0 && S_ISDIR(info.st_mode);
  const bool same = there && top_ && is_same_file(top_->state, state_of_stat(info)) &&
                    (!queue_.valid() || top_->watch >= 0);
  if (same) {
    return;
  }
  if (top_) {
    lose_top(changes);
  }
  if (there) {
    (void)open_top(&changes);  // gone again, or not readable: the next check sees
  }
}

TreeWatch::TimePoint TreeWatch::scan_due() const {
  constexpr int kShare = 10;
  return queue_.valid() ? TimePoint::max()
                        : scanned_ + std::max<steady_clock::duration>(options_.scan_interval,
                                                                      scan_time_ * kShare);
}

TreeWatch::TimePoint TreeWatch::deadline() const {
  if (ended_) {
    return TimePoint::max();
  }
  return std::min({window_end_.value_or(TimePoint::max()), next_check_, scan_due()});
}

void TreeWatch::take(TimePoint now, std::vector<FileChange>& changes) {
  if (ended_) {
    return;
  }
  (void)gather(now);
  if (now >= next_check_) {
    check_top(now, changes);
  }
  if (window_end_ && now >= *window_end_) {
    settle(now, changes);
  } else if (now >= scan_due()) {
    scan(changes);
  }
}

void TreeWatch::take_all(TimePoint now, std::vector<FileChange>& changes) {
  if (ended_) {
    return;
  }
  for (int i = 0; i < kGatherings && !gather(now); ++i) {
  }
  check_top(now, changes);
  if (window_end_) {
    settle(now, changes);
  }
  if (!queue_.valid() && !ended_) {
    scan(changes);
  }
}

// False where there may be more to gather.
bool TreeWatch::gather(TimePoint now) {
  if (!queue_.valid()) {
    return true;
  }
  std::vector<Notice> notices;
  const bool is_all = queue_.read(notices);
  for (const Notice& notice : notices) {
    note(notice);
  }
  if (!window_end_ && (lost_ || !dirty_.empty())) {
    window_end_ = now + options_.debounce;
  }
  return is_all;
}

void TreeWatch::note(const Notice& notice) {
  if (notice.lost) {
    lost_ = true;
    return;
  }
  const auto found = by_watch_.find(notice.watch);
  if (found == by_watch_.end()) {
    return;
  }
  WatchedFolder& folder = *found->second;
  if (notice.ended) {
    folder.watch = -1;
    by_watch_.erase(found);
  }
  if (!notice.name.empty()) {
    hint(folder, notice.name, notice);
  } else if (folder.above != nullptr) {
    hint(*folder.above, folder.name, notice);
  } else {
    next_check_ = {};
  }
}

void TreeWatch::hint(WatchedFolder& folder, const std::string& name, const Notice& notice) {
  if (is_temporary_name(name) || (!only_.empty() && name != only_)) {
    return;
  }
  const auto [found, is_new] = dirty_[&folder].names.try_emplace(name);
  Hint& hint = found->second;
  hint.written = hint.written || notice.written;
  hint.renamed = hint.renamed || notice.renamed;
  if (is_new) {
    hint.order = next_order_++;
    hint.at_ms = now_ms();
    ++hints_;
  }
  if (hints_ > kMaxHints) {
    make_all_dirty();
  }
}

void TreeWatch::make_all_dirty() {
  dirty_.clear();
  hints_ = 0;
  if (top_) {
    for (WatchedFolder* const each : folders_from(*top_)) {
      dirty_[each].all = true;
    }
  }
}

void TreeWatch::scan(std::vector<FileChange>& changes) {
  const auto begun = steady_clock::now();
  make_all_dirty();
  settle(begun, changes);
  scanned_ = steady_clock::now();
  scan_time_ = scanned_ - begun;
}

void TreeWatch::settle(TimePoint now, std::vector<FileChange>& changes) {
  window_end_.reset();
  if (std::exchange(lost_, false)) {
    changes.push_back({.op = ChangeOp::kOverflow, .at_ms = now_ms()});
    make_all_dirty();
  }
  for (int round = 0; round < kRounds && !dirty_.empty() && top_ && !ended_; ++round) {
    settle_round(changes);
  }
  if (ended_) {
    top_.reset();
    dirty_.clear();
    queue_.close();
    return;
  }
  if (!dirty_.empty()) {
    window_end_ = now + std::max(options_.debounce, kLeastPause);
  }
}

void TreeWatch::stop_notices() {
  queue_.close();
  for (auto& [number, folder] : by_watch_) {
    folder->watch = -1;
  }
  by_watch_.clear();
  window_end_.reset();
  scanned_ = steady_clock::now();
}

void TreeWatch::end(std::string message) {
  ended_ = ToolError{.code = "WATCH_LIMIT",
                     .message = std::move(message),
                     .hint = "Watch a folder further down, or exclude what need not be watched"};
}

}  // namespace agentbox::mcp
