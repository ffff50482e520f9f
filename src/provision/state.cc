// edge: see state.h.
#include "provision/state.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/log.h"
#include "base/random.h"
#include "base/text.h"

namespace agentbox::provision {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRemoved = ".removed-";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string default_root() {
  if (::geteuid() == 0) {
    return "/var/lib/agentbox";
  }
  const std::string state_home = variable("XDG_STATE_HOME");
  if (!state_home.empty() && state_home.front() == '/') {
    return state_home + "/agentbox";
  }
  const std::string home = variable("HOME");
  return home.empty() ? home : home + "/.local/state/agentbox";
}

bool is_folder(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// Others may pass through root's state folder (the two users must), and see nothing of a user's.
mode_t folder_mode() { return ::geteuid() == 0 ? 0711 : 0700; }

void on_alarm(int) {}

// flock() that gives up after SECONDS; true where it was taken.
Result<bool> lock_within(int fd, unsigned seconds) {
  struct sigaction interrupting {};
  interrupting.sa_handler = on_alarm;  // no SA_RESTART: the alarm ends the wait
  struct sigaction before {};
  ::sigaction(SIGALRM, &interrupting, &before);
  ::alarm(seconds);
  const int rc = ::flock(fd, LOCK_EX);
  const int number = errno;
  ::alarm(0);
  ::sigaction(SIGALRM, &before, nullptr);
  if (rc == 0) {
    return true;
  }
  if (number == EINTR) {
    return false;
  }
  return errno_error("lock", number);
}

// True where the file that FD has open is still the one called PATH.
bool is_still(int fd, const std::string& path) {
  struct stat open_file {};
  struct stat named_file {};
  return ::fstat(fd, &open_file) == 0 && ::stat(path.c_str(), &named_file) == 0 &&
         open_file.st_ino == named_file.st_ino && open_file.st_dev == named_file.st_dev;
}

// The lock file at PATH, held; nothing where its folder does not exist (any more).
Answer<std::optional<BoxLock>> hold(const std::string& path, const std::string& what) {
  for (;;) {
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd && errno == ENOENT) {
      return std::optional<BoxLock>();
    }
    if (!fd) {
      return errno_error(path);
    }
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      log::info("waiting for another command that works on " + what);
      AB_TRY(taken, lock_within(fd.get(), kLockSeconds));
      if (!taken) {
        return Failure{
            Exit::kUnreachable,
            "another command has held " + what + " for " + std::to_string(kLockSeconds) + " s",
            "wait for it to end, or end it; nothing was changed"};
      }
    }
    if (is_still(fd.get(), path)) {
      return std::optional<BoxLock>(BoxLock(std::move(fd)));
    }
  }
}

// Removes a tree of ours. An agent may have taken its own permissions from its folders.
Status remove_tree(const std::string& path) {
  std::error_code problem;
  fs::remove_all(path, problem);
  if (!problem) {
    return {};
  }
  if (::geteuid() ==
      0) {  // root needs no permission of the agent's, and shall not follow its paths
    return Error{Code::kSystem, path + ": " + problem.message(), problem.value()};
  }
  std::error_code ignored;
  for (fs::recursive_directory_iterator it(path, fs::directory_options::none, ignored), end;
       it != end; it.increment(ignored)) {
    if (!it->is_symlink(ignored) && it->is_directory(ignored)) {
      fs::permissions(it->path(), fs::perms::owner_all, fs::perm_options::add, ignored);
      if (it.recursion_pending()) {
        continue;
      }
    }
  }
  fs::remove_all(path, problem);
  return problem ? Status{Error{Code::kSystem, path + ": " + problem.message(), problem.value()}}
                 : Status{};
}

}  // namespace

Failure no_such_box(const BoxName& name) {
  return Failure{
      Exit::kNoSuchBox, "there is no box " + name.text(),
      "`agentbox-provision list` shows what there is; `create " + name.text() + "` makes it"};
}

Status make_folder(const std::string& path, mode_t mode, uid_t uid, gid_t gid) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return errno_error(path);
  }
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) {
    return errno_error(path);
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) {
    return errno_error(path);
  }
  if ((info.st_uid != uid || info.st_gid != gid) && ::fchown(fd.get(), uid, gid) != 0) {
    return errno_error(path + ": owner");
  }
  if ((info.st_mode & 07777U) != mode && ::fchmod(fd.get(), mode) != 0) {
    return errno_error(path + ": mode");
  }
  return {};
}

Answer<Store> Store::find() {
  std::string root = variable("AGENTBOX_STATE_DIR");
  if (root.empty()) {
    root = default_root();
  }
  if (root.empty()) {
    return Failure{Exit::kUsage, "neither HOME nor AGENTBOX_STATE_DIR is set",
                   "set AGENTBOX_STATE_DIR to the folder in which boxes shall be kept"};
  }
  std::error_code problem;
  const fs::path absolute = fs::absolute(root, problem).lexically_normal();
  root = absolute.string();
  while (root.size() > 1 && root.back() == '/') {
    root.pop_back();
  }
  if (auto good = check_path(root); !good.ok()) {
    return Failure{Exit::kUsage, std::move(good).error().what, "choose another AGENTBOX_STATE_DIR"};
  }
  return Store(std::move(root));
}

Done Store::make_root() const {
  std::error_code problem;
  const bool new_root = !is_folder(root_);
  fs::create_directories(root_, problem);
  if (problem) {
    return failure_of(Error{Code::kDenied, root_ + ": " + problem.message(), problem.value()},
                      "choose another AGENTBOX_STATE_DIR, or run as a user who may write there");
  }
  struct stat info {};
  if (::stat(root_.c_str(), &info) != 0) {
    return errno_error(root_);
  }
  if (info.st_uid != ::geteuid()) {
    return Failure{Exit::kRefused,
                   root_ + " belongs to uid " + std::to_string(info.st_uid) + ", not to us",
                   "run as that user, or choose another AGENTBOX_STATE_DIR"};
  }
  // Root's own folder must let the two users through; one that a user made is left as it is.
  if (new_root || ::geteuid() == 0) {
    AB_CHECK(make_folder(root_, new_root ? folder_mode() : (info.st_mode & 07777U) | 0111U,
                         info.st_uid, info.st_gid));
  }
  AB_CHECK(make_folder(boxes_folder(root_), folder_mode(), ::geteuid(), ::getegid()));
  return {};
}

Answer<std::optional<BoxLock>> Store::lock(const BoxName& name) const {
  if (!is_folder(paths(name).box)) {
    return std::optional<BoxLock>();
  }
  return hold(paths(name).lock, "box " + name.text());
}

Answer<BoxLock> Store::lock_new(const BoxName& name) const {
  AB_CHECK(make_root());
  sweep();
  for (;;) {
    AB_CHECK(make_folder(paths(name).box, folder_mode(), ::geteuid(), ::getegid()));
    AB_TRY(lock, hold(paths(name).lock, "box " + name.text()));
    if (lock) {  // else a delete took the folder away in between
      return std::move(*lock);
    }
  }
}

Answer<std::optional<BoxRecord>> Store::load(const BoxName& name) const {
  auto text = read_file_capped(paths(name).record, kMaxRecordBytes);
  if (!text.ok()) {
    if (text.error().code == Code::kNotFound) {
      return std::optional<BoxRecord>();
    }
    return failure_of(std::move(text).error());
  }
  auto record = parse_record(*text);
  if (!record.ok() || !(record->name == name)) {
    const std::string why = record.ok() ? "it is another box's" : record.error().what;
    return Failure{
        Exit::kFailed, paths(name).record + " cannot be used: " + why,
        "`agentbox-provision delete " + name.text() + "` removes the box and its workspace"};
  }
  return std::optional<BoxRecord>(std::move(record).value());
}

Answer<BoxRecord> Store::load_existing(const BoxName& name) const {
  AB_TRY(record, load(name));
  if (!record) {
    return no_such_box(name);
  }
  return std::move(*record);
}

Done Store::save(const BoxRecord& record) const {
  return advise(replace_file(paths(record.name).record, render_record(record), 0600),
                "see whether the disk is full");
}

Answer<std::vector<BoxName>> Store::names() const {
  std::vector<BoxName> found;
  std::error_code problem;
  fs::directory_iterator it(boxes_folder(root_), problem);
  if (problem == std::errc::no_such_file_or_directory) {
    return found;
  }
  if (problem) {
    return failure_of(
        Error{Code::kDenied, boxes_folder(root_) + ": " + problem.message(), problem.value()});
  }
  for (const fs::directory_iterator end; it != end; it.increment(problem)) {
    auto name = BoxName::parse(it->path().filename().string());
    if (name.ok() && ::access(paths(*name).record.c_str(), F_OK) == 0) {
      found.push_back(std::move(name).value());
    }
  }
  std::sort(found.begin(), found.end(),
            [](const BoxName& a, const BoxName& b) { return a.text() < b.text(); });
  return found;
}

Done Store::remove(const BoxName& name, const BoxLock& lock) const {
  static_cast<void>(lock);
  const std::string aside =
      boxes_folder(root_) + "/" + kRemoved + name.text() + "-" + random_hex(8);
  if (::rename(paths(name).box.c_str(), aside.c_str()) != 0) {
    return errno_error(paths(name).box);
  }
  return advise(remove_tree(aside), "remove " + aside + " by hand; the box itself is gone");
}

// What removals that were cut short have left; one that is still at work holds its lock.
void Store::sweep() const {
  std::error_code problem;
  for (fs::directory_iterator it(boxes_folder(root_), problem), end; !problem && it != end;
       it.increment(problem)) {
    const std::string path = it->path().string();
    if (!it->path().filename().string().starts_with(kRemoved)) {
      continue;
    }
    const UniqueFd fd(::open((path + "/lock").c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      continue;
    }
    static_cast<void>(remove_tree(path));
  }
}

Answer<BoxLock> Store::lock_ports() const {
  AB_TRY(lock, hold(root_ + "/ports.lock", "the choice of ports"));
  if (!lock) {
    return Failure{Exit::kFailed, root_ + " is gone", "run the command again"};
  }
  return std::move(*lock);
}

std::vector<std::uint16_t> Store::ports_in_use() const {
  std::vector<std::uint16_t> ports;
  const auto all = names();
  if (!all.ok()) {
    return ports;
  }
  for (const BoxName& name : *all) {
    if (const auto record = load(name); record.ok() && record.value()) {
      ports.push_back(record.value()->port);
    }
  }
  return ports;
}

}  // namespace agentbox::provision
