// edge: see tree_watch.h. Here: what is there against what was known.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <numeric>
#include <tuple>
#include <utility>

#include "agentbox/box_path.h"
#include "agentbox/directory.h"
#include "agentbox/file_states.h"
#include "agentbox/job_folder.h"
#include "agentbox/private_folder.h"
#include "agentbox/tree_watch.h"

namespace agentbox::mcp {
namespace {

// A folder that is not found where it should be in so many rounds has gone without a notice of it.
constexpr int kMaxTries = 16;

}  // namespace

FileState state_of_stat(const struct stat& info) {
  constexpr std::int64_t kNanos = 1'000'000'000;
  return {.device = info.st_dev,
          .inode = info.st_ino,
          .mtime_ns = info.st_mtim.tv_sec * kNanos + info.st_mtim.tv_nsec,
          .size = info.st_size,
          .mode = info.st_mode,
          .user = info.st_uid,
          .group = info.st_gid};
}

std::optional<FileState> state_of_name(int folder, const std::string& name) {
  struct stat info {};
  if (::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return std::nullopt;
  }
  return state_of_stat(info);
}

struct TreeWatch::News {
  struct Place {
    WatchedFolder* folder = nullptr;
    std::string name;
    std::uint64_t order = 0;
    std::unique_ptr<WatchedFolder> moving = nullptr;  // taken from here, on its way to another name
    std::vector<FileChange> more = {};                // of what lies in a folder
  };
  std::vector<NameNews> names;
  std::vector<Place> places;                         // of each of them
  std::vector<std::unique_ptr<WatchedFolder>> gone;  // others may still point to them
};

void TreeWatch::settle_round(std::vector<FileChange>& changes) {
  std::vector<std::tuple<std::size_t, std::string, WatchedFolder*>> folders;
  DirtyFolders dirty = std::exchange(dirty_, {});
  hints_ = 0;
  for (const auto& [folder, names] : dirty) {
    folders.emplace_back(folder->depth, path_of(*folder), folder);
  }
  std::sort(folders.begin(), folders.end());
  News news;
  for (const auto& each : folders) {
    look(*std::get<WatchedFolder*>(each), std::move(dirty[std::get<WatchedFolder*>(each)]), news);
  }
  match_moves(news.names);
  unmatch_folders(news);
  std::vector<std::size_t> noticed(news.names.size());
  std::iota(noticed.begin(), noticed.end(), 0);
  std::stable_sort(noticed.begin(), noticed.end(), [&](std::size_t a, std::size_t b) {
    return news.places[a].order < news.places[b].order;
  });
  const std::vector<std::size_t> order = tell_order(news.names, noticed);
  apply_losses(news);
  apply_finds(news);
  for (const std::size_t i : order) {
    if (!news.places[i].folder->gone) {
      for (FileChange& change : changes_of(news.names, i)) {
        changes.push_back(std::move(change));
      }
    }
    std::move(news.places[i].more.begin(), news.places[i].more.end(), std::back_inserter(changes));
  }
  std::erase_if(dirty_, [](const auto& each) { return each.first->gone; });
}

// Opens the folder where it should be; not valid where it is not.
UniqueFd TreeWatch::open_folder(const WatchedFolder& folder) const {
  UniqueFd fd = open_below(top_fd_, path_of(folder));
  struct stat info {};
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0 ||
      !is_same_file(folder.state, state_of_stat(info))) {
    return {};
  }
  return fd;
}

bool TreeWatch::is_entered(const std::string& path, const FileState& state) const {
  return options_.recursive && is_folder(state) && options_.filter.enters(path);
}

bool TreeWatch::is_tracked(const std::string& path, const FileState& state) const {
  return options_.filter.shows(path) || is_entered(path, state);
}

void TreeWatch::look(WatchedFolder& folder, Dirty dirty, News& news) {
  const UniqueFd fd = open_folder(folder);
  if (!fd.valid()) {
    // Renamed, and the notice of it is in another folder, or still to come. Or gone.
    if (++dirty.tries <= kMaxTries && !(dirty.all && !queue_.valid())) {
      dirty_[&folder] = std::move(dirty);
    }
    return;
  }
  if (dirty.all) {
    Hint hint{.order = 0, .at_ms = now_ms()};
    for (const auto& [name, known] : folder.names) {
      dirty.names.try_emplace(name, hint);
    }
    const std::size_t room = options_.max_names + 1;
    for (const std::string& name :
         only_.empty() ? list_names(fd.get(), room) : std::vector<std::string>{only_}) {
      if (!is_temporary_name(name)) {
        dirty.names.try_emplace(name, hint);
      }
    }
  }
  const std::string path = path_of(folder);
  for (const auto& [name, hint] : dirty.names) {
    look_at(folder, fd.get(), path.empty() ? name : path + "/" + name, name, hint, news);
  }
}

void TreeWatch::look_at(WatchedFolder& folder, int fd, const std::string& path,
                        const std::string& name, const Hint& hint, News& news) {
  NameNews one{.path = path, .written = hint.written, .renamed = hint.renamed, .at_ms = hint.at_ms};
  const auto known = folder.names.find(name);
  if (known != folder.names.end()) {
    one.before = known->second.state;
    one.was_shown = known->second.shown;
  }
  one.now = state_of_name(fd, name);
  one.shown = options_.filter.shows(path);
  if (one.now && !one.shown && !is_entered(path, *one.now)) {
    one.now.reset();
  }
  if (is_no_news(one)) {
    if (known != folder.names.end() && known->second.folder) {
      watch_again(*known->second.folder);
    }
    return;
  }
  news.names.push_back(std::move(one));
  news.places.push_back({.folder = &folder, .name = name, .order = hint.order});
}

// A folder that was removed and made again may have got its old number.
void TreeWatch::watch_again(WatchedFolder& folder) {
  if (!queue_.valid() || folder.watch >= 0) {
    return;
  }
  if (const UniqueFd fd = open_folder(folder); fd.valid()) {
    watch(folder, fd.get());
    dirty_[&folder].all = true;
  }
}

// What is shown may depend on where a folder lies: then one that moved is one lost and one found.
void TreeWatch::unmatch_folders(News& news) const {
  for (NameNews& to : news.names) {
    if (!to.came_from || !is_folder(*to.now)) {
      continue;
    }
    NameNews& from = news.names[*to.came_from];
    if (!options_.filter.holds_anywhere() || !from.was_shown || !to.shown ||
        options_.filter.enters(from.path) != options_.filter.enters(to.path)) {
      from.went_to.reset();
      to.came_from.reset();
    }
  }
}

void TreeWatch::apply_losses(News& news) {
  // First what moved, so that it is not taken for lost with the folder it was in.
  for (const bool moved : {true, false}) {
    for (std::size_t i = 0; i < news.names.size(); ++i) {
      const NameNews& one = news.names[i];
      News::Place& place = news.places[i];
      if (!one.lost() || one.went_to.has_value() != moved || place.folder->gone) {
        continue;
      }
      const auto known = place.folder->names.find(place.name);
      std::unique_ptr<WatchedFolder> folder = std::move(known->second.folder);
      place.folder->names.erase(known);
      --name_count_;
      if (folder && moved) {
        place.moving = std::move(folder);
      } else if (folder) {
        drop(*folder, one.was_shown, one.at_ms, place.more);
        news.gone.push_back(std::move(folder));
      }
    }
  }
}

void TreeWatch::apply_finds(News& news) {
  for (std::size_t i = 0; i < news.names.size() && !ended_; ++i) {
    const NameNews& one = news.names[i];
    News::Place& place = news.places[i];
    if (!one.now || place.folder->gone) {
      continue;
    }
    const auto [known, is_new] = place.folder->names.try_emplace(place.name);
    name_count_ += is_new ? 1 : 0;
    known->second.state = *one.now;
    known->second.shown = one.shown;
    if (one.found()) {
      place_folder(news, i, known->second);
    }
  }
  for (News::Place& place : news.places) {
    if (place.moving) {  // into a folder that has gone meanwhile
      std::vector<FileChange> untold;
      drop(*place.moving, true, 0, untold);
      news.gone.push_back(std::move(place.moving));
    }
  }
  if (name_count_ > options_.max_names && !ended_) {
    end("more than " + std::to_string(options_.max_names) + " files are in what is watched");
  }
}

void TreeWatch::place_folder(News& news, std::size_t index, WatchedName& name) {
  const NameNews& one = news.names[index];
  News::Place& place = news.places[index];
  if (!is_entered(one.path, *one.now)) {
    return;
  }
  if (one.came_from && news.places[*one.came_from].moving) {
    name.folder = std::move(news.places[*one.came_from].moving);
    name.folder->above = place.folder;
    name.folder->name = place.name;
    set_depths(*name.folder);
    return;
  }
  name.folder = make_folder(place.folder, place.name, *one.now);
  enter(*name.folder, &place.more);
}

std::unique_ptr<WatchedFolder> TreeWatch::make_folder(WatchedFolder* above, const std::string& name,
                                                      const FileState& state) {
  auto folder = std::make_unique<WatchedFolder>();
  folder->above = above;
  folder->name = name;
  folder->state = state;
  folder->depth = above == nullptr ? 0 : above->depth + 1;
  ++folder_count_;
  return folder;
}

// Watches the new folder FOLDER and all below it. The watch is first, the look second: what is made
// in between is noticed, and known already.
void TreeWatch::enter(WatchedFolder& folder, std::vector<FileChange>* created) {
  std::vector<WatchedFolder*> below{&folder};
  for (std::size_t i = 0; i < below.size() && !ended_; ++i) {
    if (folder_count_ > options_.max_folders) {
      end("more than " + std::to_string(options_.max_folders) + " folders are in what is watched");
      return;
    }
    if (below[i]->depth > kMaxWatchedDepth) {
      const std::string path = path_of(*below[i]);
      end("folders lie more than " + std::to_string(kMaxWatchedDepth) + " deep in " +
          quote_name(path.substr(0, path.find('/'))));
      return;
    }
    if (const UniqueFd fd = open_folder(*below[i]); fd.valid()) {
      watch(*below[i], fd.get());
      enter_one(*below[i], fd.get(), created, below);
    }
  }
}

void TreeWatch::enter_one(WatchedFolder& folder, int fd, std::vector<FileChange>* created,
                          std::vector<WatchedFolder*>& below) {
  const std::string stem = path_of(folder);
  const std::size_t room = options_.max_names - std::min(name_count_, options_.max_names) + 1;
  for (const std::string& name :
       only_.empty() ? list_names(fd, room) : std::vector<std::string>{only_}) {
    const auto state = is_temporary_name(name) ? std::nullopt : state_of_name(fd, name);
    const std::string path = stem.empty() ? name : stem + "/" + name;
    if (!state || !is_tracked(path, *state)) {
      continue;
    }
    WatchedName& known = folder.names[name];
    known.state = *state;
    known.shown = options_.filter.shows(path);
    if (++name_count_ > options_.max_names) {
      end("more than " + std::to_string(options_.max_names) + " files are in what is watched");
      return;
    }
    if (created != nullptr && known.shown) {
      created->push_back(
          {.op = ChangeOp::kCreate, .path = path, .type = type_of(*state), .at_ms = now_ms()});
    }
    if (is_entered(path, *state)) {
      known.folder = make_folder(&folder, name, *state);
      below.push_back(known.folder.get());
    }
  }
}

void TreeWatch::watch(WatchedFolder& folder, int fd) {
  if (!queue_.valid()) {
    return;
  }
  const auto number = queue_.add(fd);
  if (number.ok()) {
    folder.watch = *number;
    by_watch_[*number] = &folder;
  } else if (number.error().os_errno == ENOSPC || number.error().os_errno == ENOMEM) {
    stop_notices();
  }
}

// Forgets FOLDER and all below it. TOLD: its own end is, which speaks for what was in it.
void TreeWatch::drop(WatchedFolder& folder, bool told, std::int64_t at_ms,
                     std::vector<FileChange>& changes) {
  std::vector<std::pair<WatchedFolder*, bool>> todo{{&folder, told}};
  for (std::size_t i = 0; i < todo.size(); ++i) {
    const auto [each, is_told] = todo[i];
    const std::string stem = is_told ? "" : path_of(*each);
    for (auto& [name, known] : each->names) {
      if (known.shown && !is_told) {
        changes.push_back({.op = ChangeOp::kDelete,
                           .path = stem.empty() ? name : stem + "/" + name,
                           .type = type_of(known.state),
                           .at_ms = at_ms});
      }
      if (known.folder) {
        todo.emplace_back(known.folder.get(), is_told || known.shown);
      }
    }
    each->gone = true;
    name_count_ -= each->names.size();
    --folder_count_;
    if (const auto ours = by_watch_.find(each->watch);
        ours != by_watch_.end() && ours->second == each) {
      queue_.remove(each->watch);
      by_watch_.erase(ours);
    }
  }
}

}  // namespace agentbox::mcp
