// edge: see change_set.h.
#include "agentbox/change_set.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/file_bytes.h"
#include "agentbox/leaf_file.h"
#include "agentbox/os_error.h"
#include "agentbox/private_folder.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

constexpr mode_t kPermissionBits = 07777;

// "a/b" of "a/b/c"; "." where there is no more than one name.
std::string parent_of(const std::string& relative) {
  const std::size_t slash = relative.rfind('/');
  return slash == std::string::npos ? "." : relative.substr(0, slash);
}

std::string last_of(const std::string& relative) {
  return relative.substr(relative.rfind('/') + 1);  // npos + 1 is 0
}

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) {
    path.pop_back();
  }
  return path;
}

// Where the open folder FD really is.
Result<std::string> real_path(int fd) {
  const UniqueFd self(
      ::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  return self.valid() ? read_link(self.get()) : Result<std::string>(errno_error("open"));
}

ToolError too_large(const std::string& shown, std::uint64_t size, std::uint64_t most) {
  return {.code = "TOO_LARGE",
          .message = shown + " has " + std::to_string(size) + " bytes; the limit is " +
                     std::to_string(most),
          .hint = "Use shell_exec with sed or a script",
          .path = shown};
}

}  // namespace

// Names below folders that are not there have no dots in them: nothing could be checked.
Outcome<Place> ChangeSet::place_of(const BoxPath& path, bool follow, bool& exists,
                                   struct stat& info) {
  const std::string shown = workspace_.show(path);
  auto leaf = follow ? workspace_.find_leaf(path, nullptr) : workspace_.find_name(path, nullptr);
  exists = leaf.ok() && leaf->exists;
  std::string missing;  // folders below the one that is open
  std::string name;
  UniqueFd folder;
  if (leaf.ok()) {
    info = leaf->info;
    name = leaf->name;
    folder = std::move(leaf->folder);
  } else {
    if (leaf.error().code != "ENOENT") {
      return std::move(leaf).error();
    }
    const std::string relative = without_slashes(path.relative);
    name = last_of(relative);
    std::string stem = parent_of(relative);
    for (;;) {
      auto opened = workspace_.open_entry({.relative = stem});
      if (opened.ok()) {
        folder = std::move(*opened);
        break;
      }
      const std::string last = last_of(stem);
      if (opened.error().os_errno != ENOENT || stem == "." || last == ".." || last == ".") {
        return os_error(shown, opened.error());
      }
      missing = missing.empty() ? last : last + "/" + missing;
      stem = parent_of(stem);
    }
  }
  struct stat is {};
  if (::fstat(folder.get(), &is) != 0 || !S_ISDIR(is.st_mode)) {
    return os_error("open", shown, ENOTDIR);
  }
  const auto root = real_path(workspace_.folder());
  const auto real = real_path(folder.get());
  if (!root.ok() || !real.ok()) {
    return os_error(shown, root.ok() ? real.error() : root.error());
  }
  const std::vector<std::string> roots{*root};
  Place place{.folder = below_root(*real, roots), .name = name};
  if (place.folder.empty()) {
    return os_error("open", shown, EXDEV);
  }
  if (!missing.empty()) {
    place.folder = place.folder == "." ? missing : place.folder + "/" + missing;
  }
  if (is_temporary_name(place.name)) {
    return ToolError{.code = "INVALID_ARGUMENT",
                     .message = "names that start with " + std::string(kTemporaryPrefix) +
                                " are for unfinished writes and are removed",
                     .hint = "Choose another name",
                     .path = shown};
  }
  return place;
}

Outcome<ChangeSet::Id> ChangeSet::find(const BoxPath& path, bool follow) {
  Node node;
  AB_TRY(place, place_of(path, follow, node.existed, node.info));
  const auto known = by_path_.find(path_of(place));
  if (known != by_path_.end()) {
    return known->second;
  }
  const Id id = nodes_.size();
  by_path_.emplace(path_of(place), id);
  node.place = std::move(place);
  node.shown = workspace_.show({.relative = path_of(node.place)});
  node.now = node.existed ? Now::kOriginal : Now::kAbsent;
  node.origin = id;
  nodes_.push_back(std::move(node));
  return id;
}

Original ChangeSet::original(Id id) const {
  const Node& node = nodes_[id];
  return {.at = node.place, .info = node.info, .sha256 = node.sha256};
}

// Whether there is a regular file at ID now.
std::optional<ToolError> ChangeSet::require_file(Id id) const {
  const Node& node = nodes_[id];
  if (node.now == Now::kAbsent) {
    return os_error("open", node.shown, ENOENT);
  }
  if (node.now == Now::kFolder ||
      (node.now == Now::kOriginal && S_ISDIR(nodes_[node.origin].info.st_mode))) {
    return os_error("open", node.shown, EISDIR);
  }
  if (node.now == Now::kOriginal && !S_ISREG(nodes_[node.origin].info.st_mode)) {
    return ToolError{.code = "INVALID_ARGUMENT",
                     .message = node.shown + " is no regular file",
                     .hint = "Only regular files are read and written",
                     .path = node.shown};
  }
  return std::nullopt;
}

Outcome<std::string> ChangeSet::content(Id id) {
  if (auto error = require_file(id)) {
    return *std::move(error);
  }
  if (nodes_[id].now == Now::kContent) {
    return nodes_[id].content;
  }
  Node& origin = nodes_[nodes_[id].origin];
  auto file = workspace_.open_file({.relative = path_of(origin.place)});
  if (!file.ok()) {
    return std::move(file).error();
  }
  const auto size = static_cast<std::uint64_t>(file->info.st_size);
  if (size > kMaxEditedBytes || held_ + size > kMaxChangedBytes) {
    return too_large(nodes_[id].shown, size,
                     size > kMaxEditedBytes ? kMaxEditedBytes : kMaxChangedBytes);
  }
  auto bytes = read_at(file->fd.get(), 0, kMaxEditedBytes + 1);
  if (!bytes.ok()) {
    return os_error(nodes_[id].shown, bytes.error());
  }
  // From now on it must be this file, in this state.
  origin.info = file->info;
  origin.sha256 = sha256_hex(*bytes);
  return std::move(*bytes);
}

Outcome<std::string> ChangeSet::sha256(Id id) {
  if (auto error = require_file(id)) {
    return *std::move(error);
  }
  if (nodes_[id].now == Now::kContent) {
    return sha256_hex(nodes_[id].content);
  }
  Node& origin = nodes_[nodes_[id].origin];
  if (origin.sha256.empty()) {
    auto file = workspace_.open_file({.relative = path_of(origin.place)});
    if (!file.ok()) {
      return std::move(file).error();
    }
    auto hash = hash_file(file->fd.get(), kMaxHashBytes, cancelled_);
    if (!hash.ok()) {
      return os_error(nodes_[id].shown, hash.error());
    }
    origin.info = file->info;
    origin.sha256 = std::move(*hash);
  }
  return origin.sha256;
}

std::optional<ToolError> ChangeSet::write(Id id, std::string content, std::optional<mode_t> mode) {
  Node& node = nodes_[id];
  if (node.now != Now::kAbsent) {
    if (auto error = require_file(id)) {
      return error;
    }
  }
  held_ += content.size();
  if (held_ > kMaxChangedBytes) {
    return too_large("what is changed", held_, kMaxChangedBytes);
  }
  node.has_origin = node.now == Now::kOriginal || (node.now == Now::kContent && node.has_origin);
  node.now = Now::kContent;
  node.content = std::move(content);
  node.mode = mode ? mode : node.mode;
  return std::nullopt;
}

std::optional<ToolError> ChangeSet::remove(Id id, bool recursive) {
  Node& node = nodes_[id];
  if (node.now == Now::kAbsent) {
    return os_error("delete", node.shown, ENOENT);
  }
  const bool folder = node.now == Now::kFolder ||
                      (node.now == Now::kOriginal && S_ISDIR(nodes_[node.origin].info.st_mode));
  if (folder && !recursive) {
    ToolError error = os_error("delete", node.shown, EISDIR);
    error.hint = "Set recursive to delete a folder with all that is in it";
    return error;
  }
  node.now = Now::kAbsent;
  node.content.clear();
  node.mode.reset();
  return std::nullopt;
}

std::optional<ToolError> ChangeSet::move(Id from, Id to) {
  Node& source = nodes_[from];
  Node& target = nodes_[to];
  if (source.now == Now::kAbsent) {
    return os_error("move", source.shown, ENOENT);
  }
  if (target.now != Now::kAbsent) {
    return ToolError{.code = "EEXIST",
                     .message = target.shown + " exists already",
                     .hint = "Delete it by an operation before this one, or choose another name",
                     .path = target.shown};
  }
  target.now = source.now;
  target.origin = source.origin;
  target.has_origin = source.has_origin;
  target.content = std::move(source.content);
  target.mode = std::exchange(source.mode, std::nullopt);
  source.now = Now::kAbsent;
  source.content.clear();
  return std::nullopt;
}

Outcome<bool> ChangeSet::make_folder(Id id, std::optional<mode_t> mode) {
  Node& node = nodes_[id];
  if (node.now == Now::kFolder ||
      (node.now == Now::kOriginal && S_ISDIR(nodes_[node.origin].info.st_mode))) {
    return false;
  }
  if (node.now != Now::kAbsent) {
    return ToolError{.code = "EEXIST",
                     .message = node.shown + " exists already and is no folder",
                     .hint = "Choose another name",
                     .path = node.shown};
  }
  if (node.existed) {
    return ToolError{.code = "INVALID_ARGUMENT",
                     .message = node.shown + " is deleted or moved by the same call",
                     .hint = "Make the folder in a call of its own",
                     .path = node.shown};
  }
  node.now = Now::kFolder;
  node.mode = mode;
  return true;
}

std::optional<ToolError> ChangeSet::set_mode(Id id, mode_t mode) {
  Node& node = nodes_[id];
  if (node.now == Now::kAbsent) {
    return os_error("set the mode of", node.shown, ENOENT);
  }
  if (node.now == Now::kOriginal && S_ISLNK(nodes_[node.origin].info.st_mode)) {
    return ToolError{.code = "INVALID_ARGUMENT",
                     .message = node.shown + " is a link, which has no mode",
                     .hint = "Name what it leads to",
                     .path = node.shown};
  }
  node.mode = mode;
  return std::nullopt;
}

// A folder that goes or comes whole, and another change of something in it.
std::optional<ToolError> ChangeSet::check_folders() const {
  for (Id id = 0; id < nodes_.size(); ++id) {
    const Node& node = nodes_[id];
    const bool goes = node.existed && S_ISDIR(node.info.st_mode) && !is_own(id);
    const bool comes = node.now == Now::kOriginal && node.origin != id &&
                       S_ISDIR(nodes_[node.origin].info.st_mode);
    if (!goes && !comes) {
      continue;
    }
    const std::string prefix = path_of(node.place) + "/";
    const auto inside = by_path_.lower_bound(prefix);
    if (inside != by_path_.end() && inside->first.starts_with(prefix)) {
      return ToolError{.code = "INVALID_ARGUMENT",
                       .message = nodes_[inside->second].shown + " lies in " + node.shown +
                                  ", which the same call moves or deletes whole",
                       .hint = "Make these changes in two calls",
                       .path = node.shown};
    }
  }
  return std::nullopt;
}

// What becomes of what was at ID.
void ChangeSet::plan_original(Id id, ChangePlan& plan) const {
  const Node& node = nodes_[id];
  if (!node.existed || is_own(id)) {
    return;
  }
  for (Id to = 0; to < nodes_.size(); ++to) {
    if (took(to, id)) {
      const bool aside = nodes_[to].existed || nodes_[id].now == Now::kOriginal;
      plan.moves.push_back({.old = original(id), .to = nodes_[to].place, .aside = aside});
      return;
    }
  }
  const bool replaced = node.now == Now::kContent && S_ISREG(node.info.st_mode);
  if (!replaced) {
    plan.removes.push_back({.old = original(id)});
  }
}

// What comes to ID.
void ChangeSet::plan_new(Id id, ChangePlan& plan) const {
  const Node& node = nodes_[id];
  if (node.now == Now::kFolder) {
    plan.folders.push_back({.at = node.place, .mode = node.mode});
  } else if (node.now == Now::kOriginal && node.mode) {
    plan.modes.push_back({.old = original(node.origin), .at = node.place, .mode = *node.mode});
  } else if (node.now == Now::kContent) {
    WriteChange change{.at = node.place, .content = node.content, .mode = node.mode};
    bool moved_away = false;
    for (Id to = 0; to < nodes_.size(); ++to) {
      moved_away = moved_away || (to != id && took(to, id));
    }
    if (node.existed && S_ISREG(node.info.st_mode) && !moved_away) {
      change.old = original(id);
    }
    if (node.has_origin) {
      change.dress = original(node.origin);
    }
    plan.writes.push_back(std::move(change));
  }
}

Outcome<ChangePlan> ChangeSet::plan() const {
  if (auto error = check_folders()) {
    return *std::move(error);
  }
  ChangePlan plan;
  for (Id id = 0; id < nodes_.size(); ++id) {
    plan_original(id, plan);
  }
  for (Id id = 0; id < nodes_.size(); ++id) {
    plan_new(id, plan);
  }
  return plan;
}

std::size_t ChangeSet::changed() const {
  std::size_t count = 0;
  for (Id id = 0; id < nodes_.size(); ++id) {
    const Node& node = nodes_[id];
    const bool as_it_was = node.existed ? is_own(id) && !node.mode : node.now == Now::kAbsent;
    count += as_it_was ? 0U : 1U;
  }
  return count;
}

std::optional<ToolError> apply_changes(const ChangeSet& changes, bool dry, CallContext& context) {
  auto plan = changes.plan();
  if (!plan.ok()) {
    return std::move(plan).error();
  }
  if (dry) {
    return std::nullopt;
  }
  const Box& box = context.box();
  return commit(
      *box.workspace, box.keep_folder, *plan, [&context] { return context.cancelled(); },
      context.cancel_fd());
}

}  // namespace agentbox::mcp
