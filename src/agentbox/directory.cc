// edge: see directory.h.
#include "agentbox/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <deque>
#include <memory>

#include "agentbox/box_path.h"

namespace agentbox::mcp {
namespace {

struct CloseDir {
  void operator()(DIR* dir) const { (void)::closedir(dir); }
};

// A folder still to be read. It is opened again by its path below the top: holding one descriptor
// for each would use them up in a wide tree. A path names what it was listed as, since no part of
// it may be a link.
struct Pending {
  std::string path;
  std::size_t depth = 1;
};

UniqueFd open_below(int top, const std::string& path) {
  UniqueFd here(::openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
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

class Lister {
 public:
  Lister(int top, const ListRequest& request) : top_(top), request_(request) {}

  Listing run() {
    pending_.push_back({.path = "", .depth = 1});
    while (!pending_.empty() && !full() && !request_.cancelled()) {
      const Pending next = std::move(pending_.front());
      pending_.pop_front();
      read(next);
    }
    listing_.incomplete = listing_.incomplete || !pending_.empty();
    return std::move(listing_);
  }

 private:
  [[nodiscard]] bool full() const { return listing_.entries.size() >= kMaxVisited; }

  void read(const Pending& pending) {
    UniqueFd fd = open_below(top_, pending.path);
    const int folder = fd.get();
    const std::unique_ptr<DIR, CloseDir> dir(fd.valid() ? ::fdopendir(folder) : nullptr);
    if (dir == nullptr) {
      ++listing_.unreadable;
      listing_.incomplete = true;
      return;
    }
    (void)fd.release();
    while (const dirent* entry =
               ::readdir(dir.get())) {  // NOLINT(concurrency-mt-unsafe): this DIR is ours alone
      if (full()) {
        listing_.incomplete = true;
        return;
      }
      take(pending, folder, *entry);
    }
  }

  void take(const Pending& pending, int folder, const dirent& found) {
    const std::string_view name = found.d_name;
    const bool self = name == "." || name == "..";
    if (self || is_temporary_name(name) || (!request_.include_hidden && name.starts_with('.'))) {
      return;
    }
    Entry entry;
    entry.path = pending.path.empty() ? std::string(name) : pending.path + "/" + std::string(name);
    const bool may_enter =
        pending.depth < request_.depth && (found.d_type == DT_DIR || found.d_type == DT_UNKNOWN);
    if (request_.want_info || (may_enter && found.d_type == DT_UNKNOWN)) {
      entry.known = ::fstatat(folder, found.d_name, &entry.info, AT_SYMLINK_NOFOLLOW) == 0;
    }
    const bool is_folder = found.d_type == DT_DIR || (entry.known && S_ISDIR(entry.info.st_mode));
    if (may_enter && is_folder) {
      pending_.push_back({.path = entry.path, .depth = pending.depth + 1});
    }
    listing_.entries.push_back(std::move(entry));
  }

  int top_;
  const ListRequest& request_;
  Listing listing_;
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
    return {.folder = open_below(folder.get(), ""), .name = path};
  }
  return {.folder = open_below(folder.get(), path.substr(0, slash)),
          .name = path.substr(slash + 1)};
}

}  // namespace

Listing list_folder(const UniqueFd& folder, const ListRequest& request) {
  return Lister(folder.get(), request).run();
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
