// edge: see directory.h.
#include "agentbox/directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <deque>
#include <memory>
#include <string_view>
#include <utility>

#include "agentbox/box_path.h"
#include "agentbox/file_bytes.h"
#include "agentbox/folder_names.h"

namespace agentbox::mcp {
namespace {

// The rules that hold in a folder: its own, then those above.
struct IgnoreScope {
  IgnoreRules rules;
  std::string way;       // put in front of a path below the folder listed, or
  std::size_t skip = 0;  // taken off its front: then it is relative to the rules' folder
  std::shared_ptr<const IgnoreScope> above;

  [[nodiscard]] bool ignores(const std::string& path, bool is_folder) const {
    for (const IgnoreScope* scope = this; scope != nullptr; scope = scope->above.get()) {
      const auto verdict =
          scope->way.empty()
              ? scope->rules.ignores(std::string_view(path).substr(scope->skip), is_folder)
              : scope->rules.ignores(scope->way + path, is_folder);
      if (verdict) {
        return *verdict;
      }
    }
    return false;
  }
};

// A folder still to be read. It is opened again by its path below the top: holding one descriptor
// for each would use them up in a wide tree. A path names what it was listed as, since no part of
// it may be a link.
struct Pending {
  std::string path;
  std::size_t depth = 1;
  std::shared_ptr<const IgnoreScope> ignore = {};
};

// The rules in the folder FOLDER; none where it has no file of them, or something else goes by the
// name.
IgnoreRules read_ignore_rules(int folder) {
  const UniqueFd file(
      ::openat(folder, ".gitignore", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat info {};
  if (!file.valid() || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return IgnoreRules("");
  }
  const auto text = read_at(file.get(), 0, kMaxIgnoreBytes);
  return IgnoreRules(text.ok() ? std::string_view(*text) : "");
}

class Lister {
 public:
  Lister(const UniqueFd& top, const ListRequest& request) : top_(top), request_(request) {}

  Listing run() {
    pending_.push_back({.path = "", .depth = 1, .ignore = scopes_above()});
    while (!pending_.empty() && !full() && !request_.cancelled()) {
      Pending next = std::move(pending_.front());
      pending_.pop_front();
      read(next);
    }
    listing_.all_visited = listing_.all_visited && pending_.empty();
    listing_.incomplete = listing_.incomplete || !pending_.empty();
    return std::move(listing_);
  }

 private:
  [[nodiscard]] bool full() const { return visited_ >= request_.max_visited; }

  std::shared_ptr<const IgnoreScope> scopes_above() const {
    std::shared_ptr<const IgnoreScope> scope;
    for (const IgnoreAbove& above : request_.ignore_above) {
      scope = std::make_shared<IgnoreScope>(
          IgnoreScope{.rules = above.rules, .way = above.way, .skip = 0, .above = scope});
    }
    return scope;
  }

  void read(Pending& pending) {
    FolderNames names(open_below(top_, pending.path));
    if (!names.ok()) {
      ++listing_.unreadable;
      listing_.incomplete = true;
      return;
    }
    if (request_.respect_ignore) {
      add_scope(pending, names.folder());
    }
    while (const dirent* const entry = names.next()) {
      if (full()) {
        listing_.incomplete = true;
        listing_.all_visited = false;
        return;
      }
      take(pending, names.folder(), *entry);
    }
  }

  static void add_scope(Pending& pending, int folder) {
    IgnoreRules rules = read_ignore_rules(folder);
    if (!rules.empty()) {
      const std::size_t skip = pending.path.empty() ? 0 : pending.path.size() + 1;
      pending.ignore = std::make_shared<IgnoreScope>(
          IgnoreScope{.rules = std::move(rules), .way = "", .skip = skip, .above = pending.ignore});
    }
  }

  void take(const Pending& pending, int folder, const dirent& found) {
    const std::string_view name = found.d_name;
    if (is_temporary_name(name) || (!request_.include_hidden && name.starts_with('.'))) {
      return;
    }
    Entry entry;
    entry.path = pending.path.empty() ? std::string(name) : pending.path + "/" + std::string(name);
    const bool may_enter =
        pending.depth < request_.depth && (found.d_type == DT_DIR || found.d_type == DT_UNKNOWN);
    ++visited_;
    if (request_.want_info || found.d_type == DT_UNKNOWN) {
      entry.known = ::fstatat(folder, found.d_name, &entry.info, AT_SYMLINK_NOFOLLOW) == 0;
    }
    entry.is_folder = found.d_type == DT_DIR || (entry.known && S_ISDIR(entry.info.st_mode));
    if (pending.ignore && pending.ignore->ignores(entry.path, entry.is_folder)) {
      return;
    }
    if (may_enter && entry.is_folder) {
      pending_.push_back(
          {.path = entry.path, .depth = pending.depth + 1, .ignore = pending.ignore});
    }
    if (request_.wanted(entry)) {
      listing_.entries.push_back(std::move(entry));
    }
  }

  const UniqueFd& top_;
  const ListRequest& request_;
  Listing listing_;
  std::size_t visited_ = 0;
  std::deque<Pending> pending_;
};

// The folder an entry lies in, and its own name.
struct Place {
  UniqueFd folder;
  std::string name;
};
Place place_of(const UniqueFd& folder, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) {
    return {.folder = open_below(folder, ""), .name = path};
  }
  return {.folder = open_below(folder, path.substr(0, slash)), .name = path.substr(slash + 1)};
}

}  // namespace

UniqueFd open_below(const UniqueFd& folder, const std::string& path) {
  UniqueFd here(::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::string_view rest = path;
  while (here.valid() && !rest.empty()) {
    const std::size_t end = std::min(rest.find('/'), rest.size());
    const std::string name(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    here = UniqueFd(
        ::openat(here.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  return here;
}

std::vector<IgnoreAbove> find_ignore_above(const Workspace& workspace, const BoxPath& path) {
  std::vector<std::string> names;
  for (std::string_view rest = path.relative; !rest.empty();) {
    const std::size_t end = std::min(rest.find('/'), rest.size());
    const std::string_view name = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (name == "..") {
      return {};  // where that leads only the kernel knows; such paths are rare
    }
    if (!name.empty() && name != ".") {
      names.emplace_back(name);
    }
  }
  std::vector<IgnoreAbove> above;
  std::string stem = ".";  // the folder the rules lie in
  for (std::size_t i = 0; i < names.size() && path.root == Root::kWorkspace; ++i) {
    const auto folder = workspace.open_folder({.relative = stem});
    IgnoreRules rules = folder.ok() ? read_ignore_rules(folder->fd.get()) : IgnoreRules("");
    if (!rules.empty()) {
      std::string way;
      for (std::size_t below = i; below < names.size(); ++below) {
        way += names[below] + "/";
      }
      above.push_back({.rules = std::move(rules), .way = std::move(way)});
    }
    stem += "/" + names[i];
  }
  return above;
}

Listing list_folder(const UniqueFd& folder, const ListRequest& request) {
  return Lister(folder, request).run();
}

bool fill_info(const UniqueFd& folder, Entry& entry) {
  const Place place = place_of(folder, entry.path);
  entry.known = place.folder.valid() && ::fstatat(place.folder.get(), place.name.c_str(),
                                                  &entry.info, AT_SYMLINK_NOFOLLOW) == 0;
  return entry.known;
}

std::string link_target(const UniqueFd& folder, const std::string& path) {
  const Place place = place_of(folder, path);
  std::array<char, PATH_MAX> target;
  const ssize_t size = place.folder.valid() ? ::readlinkat(place.folder.get(), place.name.c_str(),
                                                           target.data(), target.size())
                                            : -1;
  return size > 0 ? std::string(target.data(), static_cast<std::size_t>(size)) : std::string();
}

}  // namespace agentbox::mcp
