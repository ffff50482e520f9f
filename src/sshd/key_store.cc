// edge: see key_store.h.
#include "sshd/key_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>

#include "base/defence.h"
#include "base/handle.h"
#include "base/text.h"

namespace agentbox::sshd {
namespace {

/// A projection that is swapped while it is read is read anew; nobody swaps them this fast for
/// long.
constexpr int kAttempts = 16;

// Who could have changed what PATH names: every folder down to it, and the file. A folder with the
// sticky bit is as good as a closed one, for its entries can only be moved by their owners.
Status check_path_trust(const std::string& path) {
  for (std::size_t start = 1;;) {
    const auto slash = path.find('/', start);
    const std::string part = path.substr(0, slash);
    struct stat info {};
    if (::lstat(part.c_str(), &info) != 0) {
      return errno_error(part);
    }
    const bool sticky_folder = S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX) != 0;
    const bool foreign = info.st_uid != 0 && info.st_uid != ::geteuid();
    if (foreign || ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !sticky_folder)) {
      return Error{Code::kDenied,
                   part +
                       " can be written by others; whoever can write the keys decides who enters " +
                       "(close it)"};
    }
    if (slash == std::string::npos) {
      return {};
    }
    start = slash + 1;
  }
}

Status check_trust(int fd) {
  struct statvfs volume {};
  if (::fstatvfs(fd, &volume) == 0 && (volume.f_flag & ST_RDONLY) != 0) {
    return {};  // mounted read-only here: nobody inside can write it
  }
  std::array<char, PATH_MAX> path{};
  const ssize_t length =
      ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path.data(), path.size() - 1);
  if (length <= 0) {
    return errno_error("the keys' resolved path");
  }
  return check_path_trust(std::string(path.data(), static_cast<std::size_t>(length)));
}

// The folder that holds the files themselves: of one projection, however the link moves later.
Result<UniqueFd> open_folder(const std::string& folder) {
  UniqueFd data(::open((folder + "/..data").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (data) {
    return data;
  }
  UniqueFd plain(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!plain) {
    return errno_error(folder);
  }
  return plain;
}

// The file's text, or nothing where it does not exist.
Result<std::optional<std::string>> read_member(int folder, const char* name, KeysTrust trust) {
  const UniqueFd fd(::openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) {
    if (errno == ENOENT) {
      return std::optional<std::string>{};
    }
    return errno_error(name);
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return Error{Code::kInvalid, std::string(name) + ": not a regular file"};
  }
  if (defended("key-trust") && trust == KeysTrust::kStrict) {
    AB_CHECK(check_trust(fd.get()));
  }
  auto text = read_fd_capped(fd.get(), kMaxKeysFileBytes);
  if (!text.ok()) {
    return std::move(text).error().in(name);
  }
  return std::optional<std::string>(std::move(text).value());
}

// An empty file is a missing one: so a projected volume shows an annotation that is not there.
void take_certificate_trust(const std::optional<std::string>& authorities,
                            const std::optional<std::string>& name, LoadedKeys& loaded) {
  auto trusted = parse_authorities(authorities.value_or(""));
  if (!trusted.ok()) {
    loaded.certificates_refused = trusted.error().what;
    return;
  }
  if (!trusted->empty() && name.value_or("").empty()) {
    loaded.certificates_refused = "box_name: not there, and certificates are for a box by its name";
    return;
  }
  auto parsed = trusted->empty() ? Result<std::string>("") : parse_box_name(*name);
  if (!parsed.ok()) {
    loaded.certificates_refused = parsed.error().what;
    return;
  }
  loaded.keys.authorities = std::move(trusted).value();
  loaded.keys.box_name = std::move(parsed).value();
}

// Whether FD is still what open_folder() opens.
bool is_current(const std::string& folder, int fd) {
  const auto now = open_folder(folder);
  struct stat here {};
  struct stat there {};
  return now.ok() && ::fstat(fd, &here) == 0 && ::fstat(now->get(), &there) == 0 &&
         here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

Result<LoadedKeys> load_from(int fd, KeysTrust trust) {
  AB_TRY(authorized, read_member(fd, "authorized_keys", trust));
  AB_TRY(generation, read_member(fd, "generation", trust));
  AB_TRY(revoked, read_member(fd, "revoked", trust));
  AB_TRY(authorities, read_member(fd, "user_ca", trust));
  AB_TRY(name, read_member(fd, "box_name", trust));
  LoadedKeys loaded;
  loaded.present = authorized.has_value();
  auto parsed = parse_authorized_keys(authorized.value_or(""));
  loaded.keys.entries = std::move(parsed.entries);
  loaded.problems = std::move(parsed.problems);
  std::string number = generation.value_or("");
  while (number.ends_with('\n')) {
    number.pop_back();
  }
  if (!number.empty()) {
    auto value = parse_decimal(number);
    if (!value.ok()) {
      return std::move(value).error().in("generation");
    }
    loaded.keys.generation = *value;
  }
  AB_TRY(locked_out, parse_revoked(revoked.value_or("")));
  loaded.keys.revoked = std::move(locked_out);
  take_certificate_trust(authorities, name, loaded);
  return loaded;
}

}  // namespace

Result<LoadedKeys> load_keys(const std::string& folder, KeysTrust trust) {
  for (int attempt = 1;; ++attempt) {
    auto opened = open_folder(folder);
    if (!opened.ok()) {
      return opened.error().os_errno == ENOENT ? Result<LoadedKeys>(LoadedKeys{})
                                               : std::move(opened).error();
    }
    auto loaded = load_from(opened->get(), trust);
    // An old projection is removed when the link has moved on: what was read of it may be the half.
    if (attempt == kAttempts || is_current(folder, opened->get())) {
      return loaded;
    }
  }
}

Result<std::string> read_own_name(const std::string& folder, KeysTrust trust) {
  const auto opened = open_folder(folder);
  std::string both;
  for (const char* file : {"box_namespace", "box_name"}) {
    std::optional<std::string> text;
    if (opened.ok()) {
      AB_TRY(read, read_member(opened->get(), file, trust));
      text = std::move(read);
    }
    if (!text.value_or("").empty()) {
      auto name = parse_box_name(*text);
      if (!name.ok()) {
        return std::move(name).error().in(file);
      }
      both += *name;
    }
    both += both.find('/') == std::string::npos ? "/" : "";
  }
  return both;
}

std::string keys_signature(const std::string& folder) {
  std::string signature;
  for (const char* name :
       {"/..data", "/authorized_keys", "/generation", "/revoked", "/user_ca", "/box_name"}) {
    struct stat info {};
    if (::stat((folder + name).c_str(), &info) != 0) {
      signature += "-;";
      continue;
    }
    for (const auto part :
         {static_cast<std::uint64_t>(info.st_dev), static_cast<std::uint64_t>(info.st_ino),
          static_cast<std::uint64_t>(info.st_size), static_cast<std::uint64_t>(info.st_ctim.tv_sec),
          static_cast<std::uint64_t>(info.st_ctim.tv_nsec)}) {
      signature += std::to_string(part) + ',';
    }
    signature += ';';
  }
  return signature;
}

}  // namespace agentbox::sshd
