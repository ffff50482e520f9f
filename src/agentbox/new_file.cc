// edge: see new_file.h.
#include "agentbox/new_file.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "agentbox/box_path.h"
#include "base/random.h"

namespace agentbox::mcp {
namespace {

// Enough that no name is ever met twice or guessed.
constexpr std::size_t kRandomBytes = 16;
constexpr unsigned kNoReplace = 1;  // RENAME_NOREPLACE
// The kernel's bounds of a list of attributes and of one value.
constexpr std::size_t kMaxAttributeBytes = 64 * 1024;

bool is_users_attribute(std::string_view name) {
  return name.starts_with("user.") || name == "system.posix_acl_access";
}

}  // namespace

Result<NewFile> NewFile::create(int folder, const KernelFeatures& features) {
  if (features.unnamed_files) {
    UniqueFd fd(::openat(folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (fd.valid()) {
      return NewFile(folder, std::move(fd), {});
    }
    if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT) {  // this file system has none
      return errno_error("write");
    }
  }
  std::string name = random_name(kTemporaryPrefix);
  UniqueFd fd(
      ::openat(folder, name.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0600));
  if (!fd.valid()) {
    return errno_error("write");
  }
  return NewFile(folder, std::move(fd), std::move(name));
}

void NewFile::remove_temporary() {
  if (!temporary_.empty()) {
    (void)::unlinkat(folder_, temporary_.c_str(), 0);
    temporary_.clear();
  }
}

Result<Naming> NewFile::put(const std::string& name, const struct stat* old) {
  if (temporary_.empty()) {
    const std::string self = "/proc/self/fd/" + std::to_string(fd_.get());
    std::string first_name = old != nullptr ? random_name(kTemporaryPrefix) : name;
    if (::linkat(AT_FDCWD, self.c_str(), folder_, first_name.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      return errno == EEXIST ? Result<Naming>(Naming::kTaken) : errno_error("write");
    }
    if (old == nullptr) {
      return Naming::kDone;
    }
    temporary_ = std::move(first_name);
  }
  if (old != nullptr && !names_file(folder_, name, *old)) {
    return Naming::kReplaced;
  }
  if (old == nullptr) {
    if (const int number = rename_to_free_name(folder_, temporary_, folder_, name); number != 0) {
      return number == EEXIST ? Result<Naming>(Naming::kTaken) : errno_error("write", number);
    }
  } else if (::renameat(folder_, temporary_.c_str(), folder_, name.c_str()) != 0) {
    return errno_error("write");
  }
  temporary_.clear();
  return Naming::kDone;
}

std::string random_name(std::string_view prefix) {
  return std::string(prefix) + random_hex(kRandomBytes);
}

int rename_to_free_name(int from_folder, const std::string& from, int to_folder,
                        const std::string& to) {
  if (::syscall(SYS_renameat2, from_folder, from.c_str(), to_folder, to.c_str(), kNoReplace) == 0) {
    return 0;
  }
  if (errno != ENOSYS && errno != EINVAL) {
    return errno;
  }
  struct stat info {};
  if (::fstatat(from_folder, from.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno;
  }
  if (S_ISDIR(info.st_mode)) {
    // An empty folder claims the name; a rename may replace it, and nothing that is not empty.
    if (::mkdirat(to_folder, to.c_str(), 0700) != 0) {
      return errno;
    }
    if (::renameat(from_folder, from.c_str(), to_folder, to.c_str()) == 0) {
      return 0;
    }
    const int number = errno;
    (void)::unlinkat(to_folder, to.c_str(), AT_REMOVEDIR);
    return number;
  }
  if (::linkat(from_folder, from.c_str(), to_folder, to.c_str(), 0) != 0) {
    return errno;
  }
  return ::unlinkat(from_folder, from.c_str(), 0) == 0 ? 0 : errno;
}

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool names_file(int folder, const std::string& name, const struct stat& expected) {
  struct stat now {};
  return ::fstatat(folder, name.c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0 &&
         same_file(now, expected);
}

int take_owner(int fd, const struct stat& old, mode_t& mode) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) {
    return errno;
  }
  if (info.st_uid != old.st_uid && ::fchown(fd, old.st_uid, static_cast<gid_t>(-1)) != 0) {
    mode &= ~static_cast<mode_t>(S_ISUID);
  }
  if (info.st_gid != old.st_gid && ::fchown(fd, static_cast<uid_t>(-1), old.st_gid) != 0) {
    mode &= ~static_cast<mode_t>(S_ISGID);
  }
  return ::fchmod(fd, mode) == 0 ? 0 : errno;
}

void copy_attributes(int from, int to) {
  std::string names(kMaxAttributeBytes, '\0');
  const ssize_t listed = ::flistxattr(from, names.data(), names.size());
  if (listed <= 0) {
    return;
  }
  names.resize(static_cast<std::size_t>(listed));
  std::string value(kMaxAttributeBytes, '\0');
  for (std::size_t at = 0; at < names.size(); at += std::strlen(names.c_str() + at) + 1) {
    const char* const name = names.c_str() + at;
    if (!is_users_attribute(name)) {
      continue;
    }
    const ssize_t size = ::fgetxattr(from, name, value.data(), value.size());
    if (size >= 0) {
      (void)!::fsetxattr(to, name, value.data(), static_cast<std::size_t>(size), 0);
    }
  }
}

void sync_folder(int folder) {
  const UniqueFd open(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (open.valid()) {
    (void)::fsync(open.get());
  }
}

}  // namespace agentbox::mcp
