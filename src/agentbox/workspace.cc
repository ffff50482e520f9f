// edge: see workspace.h.
#include "agentbox/workspace.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <functional>

#include "agentbox/new_file.h"
#include "agentbox/os_error.h"

namespace agentbox::mcp {
namespace {

// The name every box's workspace is known by, wherever it really lies.
constexpr std::string_view kCommonName = "/workspace";
constexpr mode_t kNewFolderMode = 0777;  // less the umask

Result<UniqueFd> open_root(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) {
    return errno_error("open " + path);
  }
  return fd;
}

// PATH, and where links on it lead to.
std::vector<std::string> names_of(const std::string& path, int fd) {
  std::vector<std::string> names{path};
  std::array<char, PATH_MAX> real;
  const std::string self = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t size = ::readlink(self.c_str(), real.data(), real.size());
  if (size > 0) {
    std::string resolved(real.data(), static_cast<std::size_t>(size));
    if (resolved != path) {
      names.push_back(std::move(resolved));
    }
  }
  return names;
}

std::string_view kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFIFO:
      return "a FIFO";
    case S_IFSOCK:
      return "a socket";
    case S_IFCHR:
    case S_IFBLK:
      return "a device";
    default:
      return "no regular file";
  }
}

ToolError wrong_type(const std::string& shown, mode_t is, mode_t wanted) {
  if (S_ISDIR(is)) {
    return os_error("open", shown, EISDIR);
  }
  if (wanted == S_IFDIR && S_ISREG(is)) {
    return os_error("open", shown, ENOTDIR);
  }
  return {
      .code = "INVALID_ARGUMENT",
      .message = shown + " is " + std::string(kind_of(is)),
      .hint = "Only regular files and folders are opened; use shell_exec with a timeout for others",
      .path = shown};
}

ToolError no_folder(const std::string& shown) {
  return {.code = "EEXIST",
          .message = shown + " exists already and is no folder",
          .hint = "Choose another name, or move what is there",
          .path = shown};
}

Outcome<bool> make_folder(const UniqueFd& parent, const std::string& name, const std::string& shown,
                          MadeFolders* made) {
  if (::mkdirat(parent.get(), name.c_str(), kNewFolderMode) == 0) {
    made->add(UniqueFd(::fcntl(parent.get(), F_DUPFD_CLOEXEC, 0)), name);
    return true;
  }
  if (errno != EEXIST) {
    return os_error("make folder " + quote_name(name) + " in", quote_name(shown), errno);
  }
  return false;
}

// The folder part and the last name of "a/b/c"; slashes at the end are gone.
struct Split {
  std::string folder;
  std::string name;
};
Split split_last(std::string_view relative) {
  while (relative.size() > 1 && relative.ends_with('/')) {
    relative.remove_suffix(1);
  }
  const std::size_t slash = relative.rfind('/');
  if (slash == std::string_view::npos) {
    return {.folder = ".", .name = std::string(relative)};
  }
  return {.folder = std::string(relative.substr(0, slash)),
          .name = std::string(relative.substr(slash + 1))};
}

}  // namespace

void MadeFolders::sync() const {
  for (const Made& each : made_) {
    const UniqueFd folder(::openat(each.parent.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    (void)::fsync(folder.get());
  }
}

void MadeFolders::undo() {
  for (auto each = made_.rbegin(); each != made_.rend(); ++each) {
    (void)::unlinkat(each->parent.get(), each->name.c_str(), AT_REMOVEDIR);
  }
  made_.clear();
}

Result<std::unique_ptr<Workspace>> Workspace::open(const Options& options) {
  AB_TRY(folder, open_root(options.workspace));
  const KernelFeatures features =
      options.features ? *options.features : KernelFeatures::probe(folder.get());
  RootNames names;
  names.workspace = names_of(options.workspace, folder.get());
  if (std::find(names.workspace.begin(), names.workspace.end(), kCommonName) ==
      names.workspace.end()) {
    names.workspace.emplace_back(kCommonName);
  }
  std::optional<Beneath> output;
  if (!options.output.empty()) {
    AB_TRY(out, open_root(options.output));
    names.output = names_of(options.output, out.get());
    output.emplace(std::move(out), names.output, features.openat2);
  }
  Beneath workspace(std::move(folder), names.workspace, features.openat2);
  std::unique_ptr<Workspace> opened(
      new Workspace(std::move(workspace), std::move(output), std::move(names),
                    features));  // NOLINT(cppcoreguidelines-owning-memory): private constructor
  opened->umask_bits_ = ::umask(022);
  ::umask(opened->umask_bits_);
  return opened;
}

const Beneath& Workspace::root(const BoxPath& path) const {
  return path.root == Root::kWorkspace ? workspace_ : *output_;
}

Outcome<Opened> Workspace::open_checked(const BoxPath& path, mode_t type) const {
  Opened opened;
  opened.shown = show(path);
  const auto entry = root(path).open(path.relative, O_PATH);
  if (!entry.ok()) {
    return os_error(opened.shown, entry.error());
  }
  if (::fstat(entry->get(), &opened.info) != 0) {
    return os_error("stat", opened.shown, errno);
  }
  if ((opened.info.st_mode & S_IFMT) != type) {
    return wrong_type(opened.shown, opened.info.st_mode, type);
  }
  // Again, now for reading: what was a file a moment ago may be a FIFO, so this too cannot block,
  // and what was opened is looked at again.
  auto fd = root(path).open(path.relative, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!fd.ok()) {
    return os_error(opened.shown, fd.error());
  }
  if (::fstat(fd->get(), &opened.info) != 0) {
    return os_error("stat", opened.shown, errno);
  }
  if ((opened.info.st_mode & S_IFMT) != type) {
    return wrong_type(opened.shown, opened.info.st_mode, type);
  }
  opened.fd = std::move(*fd);
  return opened;
}

Outcome<Opened> Workspace::open_file(const BoxPath& path) const {
  return open_checked(path, S_IFREG);
}

Outcome<Opened> Workspace::open_folder(const BoxPath& path) const {
  return open_checked(path, S_IFDIR);
}

Result<UniqueFd> Workspace::open_entry(const BoxPath& path) const {
  return root(path).open(path.relative, O_PATH);
}

Result<UniqueFd> Workspace::open_name(const BoxPath& path) const {
  return root(path).open(path.relative, O_PATH | O_NOFOLLOW);
}

Outcome<bool> Workspace::create_folder(const BoxPath& path, mode_t mode, bool exact) const {
  if (auto error = refuse_output(path)) {
    return *std::move(error);
  }
  const std::string shown = show(path);
  const auto there = open_entry(path);
  struct stat info {};
  if (there.ok() && ::fstat(there->get(), &info) == 0) {
    return S_ISDIR(info.st_mode) ? Outcome<bool>(false) : no_folder(shown);
  }
  if (!there.ok() && there.error().os_errno != ENOENT) {
    return os_error(shown, there.error());
  }
  MadeFolders made;
  auto created = create_last(path, mode, exact, made);
  if (created.ok()) {
    made.sync();
  } else {
    made.undo();
  }
  return created;
}

Outcome<bool> Workspace::create_last(const BoxPath& path, mode_t mode, bool exact,
                                     MadeFolders& made) const {
  const std::string shown = show(path);
  AB_TRY(leaf, find_name(path, &made));
  if (is_temporary_name(leaf.name)) {
    return ToolError{.code = "INVALID_ARGUMENT",
                     .message = "names that start with " + std::string(kTemporaryPrefix) +
                                " are for unfinished writes",
                     .hint = "Choose another name",
                     .path = shown};
  }
  if (::mkdirat(leaf.folder.get(), leaf.name.c_str(), mode) != 0) {
    return errno == EEXIST ? no_folder(shown) : os_error("make", shown, errno);
  }
  const UniqueFd folder(::openat(leaf.folder.get(), leaf.name.c_str(),
                                 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (exact && ::fchmod(folder.get(), mode) != 0) {
    return os_error("set the mode of", shown, errno);
  }
  sync_folder(leaf.folder.get());
  return true;
}

// Opens the folder RELATIVE, making what is missing where MADE is given.
Outcome<UniqueFd> Workspace::open_parent(const std::string& relative, MadeFolders* made) const {
  std::vector<std::string> missing;  // deepest first
  std::string stem = relative;
  for (;;) {
    auto folder = workspace_.open(stem, O_PATH | O_DIRECTORY);
    if (folder.ok() && missing.empty()) {
      return std::move(*folder);
    }
    if (folder.ok()) {
      AB_CHECK(make_folder(*folder, missing.back(), stem, made));
      stem += "/" + missing.back();
      missing.pop_back();
      continue;
    }
    const Split split = split_last(stem);
    const bool can_make = made != nullptr && folder.error().os_errno == ENOENT &&
                          split.name != "." && split.name != "..";
    if (!can_make || split.folder == stem) {
      return os_error(show({.relative = stem}), folder.error());
    }
    missing.push_back(split.name);
    stem = split.folder;
  }
}

std::optional<ToolError> Workspace::refuse_output(const BoxPath& path) const {
  if (path.root == Root::kWorkspace) {
    return std::nullopt;
  }
  const std::string shown = show(path);
  return ToolError{.code = "EROFS",
                   .message = shown + " is in the folder of command output, which is only read",
                   .hint = "Write into the workspace instead",
                   .path = shown};
}

// The error of a path whose last part is "." or "..", where a name is wanted.
ToolError Workspace::refuse_dots(const BoxPath& path) const {
  const std::string shown = show(path);
  const auto there = root(path).open(path.relative, O_PATH);
  if (!there.ok()) {
    return os_error(shown, there.error());
  }
  struct stat is {};
  struct stat top {};
  if (::fstat(there->get(), &is) == 0 && ::fstat(folder(), &top) == 0 && same_file(is, top)) {
    return {.code = "ROOT_REFUSED",
            .message = shown + " is the workspace itself",
            .hint = "Name something inside it",
            .path = shown};
  }
  return {.code = "INVALID_ARGUMENT",
          .message = shown + " ends with a dot that stands for a folder",
          .hint = "Write the folder's own name",
          .path = shown};
}

Outcome<Leaf> Workspace::find_name(const BoxPath& path, MadeFolders* made) const {
  if (auto error = refuse_output(path)) {
    return *std::move(error);
  }
  const std::string shown = show(path);
  const Split split = split_last(path.relative);
  if (split.name.empty() || split.name == "." || split.name == "..") {
    return refuse_dots(path);
  }
  Leaf leaf;
  AB_TRY(folder, open_parent(split.folder, made));
  leaf.folder = std::move(folder);
  leaf.name = split.name;
  leaf.relative = path.relative;
  leaf.exists =
      ::fstatat(leaf.folder.get(), leaf.name.c_str(), &leaf.info, AT_SYMLINK_NOFOLLOW) == 0;
  if (!leaf.exists && errno != ENOENT) {
    return os_error("stat", shown, errno);
  }
  if (leaf.exists && path.relative.ends_with('/') && !S_ISDIR(leaf.info.st_mode)) {
    return os_error("stat", shown, ENOTDIR);
  }
  return leaf;
}

void Workspace::remove_empty_folders(const std::string& relative, std::size_t count) const {
  std::string folder = split_last(relative).folder;
  for (; count > 0 && folder != "."; --count) {
    const Split split = split_last(folder);
    const auto parent = workspace_.open(split.folder, O_PATH | O_DIRECTORY);
    if (!parent.ok() || ::unlinkat(parent->get(), split.name.c_str(), AT_REMOVEDIR) != 0) {
      return;
    }
    folder = split.folder;
  }
}

bool Workspace::leads_to(const BoxPath& path, const struct stat& info) const {
  const auto found = root(path).open(path.relative, O_PATH | O_NOFOLLOW);
  struct stat now {};
  return found.ok() && ::fstat(found->get(), &now) == 0 && same_file(now, info);
}

Outcome<Leaf> Workspace::find_leaf(const BoxPath& path, MadeFolders* made) const {
  const std::string shown = show(path);
  if (auto error = refuse_output(path)) {
    return *std::move(error);
  }
  Leaf leaf;
  leaf.relative = path.relative;
  for (int links = 0; links <= kMaxLinks; ++links) {
    const Split split = split_last(leaf.relative);
    if (leaf.relative.ends_with('/') || split.name == "." || split.name == "..") {
      const auto folder = open_entry({.relative = leaf.relative});
      const bool outside = !folder.ok() && folder.error().os_errno == EXDEV;
      return os_error("write", shown, outside ? EXDEV : EISDIR);
    }
    AB_TRY(folder, open_parent(split.folder, made));
    leaf.folder = std::move(folder);
    leaf.name = split.name;
    const UniqueFd entry(
        ::openat(leaf.folder.get(), leaf.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!entry.valid()) {
      if (errno == ENOENT) {
        return leaf;
      }
      return os_error("open", shown, errno);
    }
    if (::fstat(entry.get(), &leaf.info) != 0) {
      return os_error("stat", shown, errno);
    }
    if (!S_ISLNK(leaf.info.st_mode)) {
      leaf.exists = true;
      return S_ISREG(leaf.info.st_mode) ? Outcome<Leaf>(std::move(leaf))
                                        : wrong_type(shown, leaf.info.st_mode, S_IFREG);
    }
    auto target = read_link(entry.get());
    if (!target.ok()) {
      return os_error(shown, target.error());
    }
    if (target->starts_with('/')) {
      leaf.relative = below_root(*target, names_.workspace);
      if (leaf.relative.empty()) {
        return os_error("write", shown, EXDEV);
      }
    } else {
      leaf.relative = split.folder + "/" + *target;
    }
  }
  return os_error("write", shown, ELOOP);
}

std::mutex& Workspace::lock_of(int folder, const std::string& name) const {
  struct stat info {};
  (void)::fstat(folder, &info);
  const std::size_t key = std::hash<std::string>{}(name) ^ std::hash<std::uint64_t>{}(info.st_ino);
  return locks_[key % kLocks];
}

std::unique_lock<std::mutex> Workspace::lock_name(const Leaf& leaf) const {
  return std::unique_lock(lock_of(leaf.folder.get(), leaf.name));
}

std::vector<std::unique_lock<std::mutex>> Workspace::lock_names(
    const std::vector<FolderName>& names) const {
  std::vector<std::mutex*> wanted;
  for (const auto& [folder, name] : names) {
    wanted.push_back(&lock_of(folder, name));
  }
  // Always in the order they lie in, so that two such calls never wait for each other.
  std::sort(wanted.begin(), wanted.end(), std::less<>{});
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  std::vector<std::unique_lock<std::mutex>> locks;
  for (std::mutex* const one : wanted) {
    locks.emplace_back(*one);
  }
  return locks;
}

Workspace::TwoLocks Workspace::lock_names(const Leaf& a, const Leaf& b) const {
  std::mutex* first = &lock_of(a.folder.get(), a.name);
  std::mutex* second = &lock_of(b.folder.get(), b.name);
  if (first == second) {
    return {.first = std::unique_lock(*first), .second = {}};
  }
  // Always in the order they lie in, so that two such calls never wait for each other.
  if (std::less<>{}(second, first)) {
    std::swap(first, second);
  }
  return {.first = std::unique_lock(*first), .second = std::unique_lock(*second)};
}

std::string path_from_root(const Workspace& workspace, const BoxPath& path) {
  const std::string shown =
      show_path(path, {.workspace = {""}, .output = workspace.names().output});
  std::string bytes = shown.starts_with('"') ? unquote_name(shown).value() : shown;
  if (path.root == Root::kWorkspace && bytes.starts_with('/')) {
    bytes.erase(0, 1);
  }
  return bytes;
}

std::string folder_prefix(const Workspace& workspace, const BoxPath& path) {
  const std::string bytes = path_from_root(workspace, path);
  return bytes.empty() || bytes.ends_with('/') ? bytes : bytes + "/";
}

}  // namespace agentbox::mcp
