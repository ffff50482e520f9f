// edge: see leaf_file.h.
#include "agentbox/leaf_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "agentbox/file_bytes.h"
#include "agentbox/new_file.h"
#include "agentbox/os_error.h"

namespace agentbox::mcp {

ToolError conflict(const std::string& shown, std::string message) {
  return {.code = "CONFLICT",
          .message = std::move(message),
          .hint = "Read the file again and repeat the change on what is there now",
          .path = shown};
}

std::optional<ToolError> refuse_temporary_name(const Leaf& leaf, const std::string& shown) {
  if (!is_temporary_name(leaf.name)) {
    return std::nullopt;
  }
  return ToolError{.code = "INVALID_ARGUMENT",
                   .message = "names that start with " + std::string(kTemporaryPrefix) +
                              " are for unfinished writes and are removed",
                   .hint = "Choose another name",
                   .path = shown};
}

void look_again(Leaf& leaf) {
  struct stat now {};
  if (::fstatat(leaf.folder.get(), leaf.name.c_str(), &now, AT_SYMLINK_NOFOLLOW) != 0) {
    leaf.exists = leaf.exists && errno != ENOENT;
  } else if (S_ISREG(now.st_mode)) {
    leaf.exists = true;
    leaf.info = now;
  }
}

Outcome<UniqueFd> open_leaf(const Leaf& leaf, const std::string& shown, int flags,
                            std::string_view nothing_done) {
  UniqueFd fd(::openat(leaf.folder.get(), leaf.name.c_str(),
                       flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd.valid()) {
    return os_error("open", shown, errno);
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) {
    return os_error("stat", shown, errno);
  }
  if (!same_file(info, leaf.info) || !S_ISREG(info.st_mode)) {
    return conflict(
        shown, shown + " was replaced by somebody else meanwhile; " + std::string(nothing_done));
  }
  return fd;
}

std::optional<ToolError> require_sha256(const Leaf& leaf, const std::string& shown,
                                        const std::string& wanted, std::string_view nothing_done,
                                        const std::function<bool()>& cancelled) {
  auto file = open_leaf(leaf, shown, O_RDONLY, nothing_done);
  if (!file.ok()) {
    return std::move(file).error();
  }
  const auto hash = hash_file(file->get(), kMaxHashBytes, cancelled);
  if (!hash.ok()) {
    return os_error(shown, hash.error());
  }
  return *hash == wanted ? std::nullopt : std::optional(wrong_sha256(shown, *hash, nothing_done));
}

ToolError exists_already(const std::string& shown) {
  return {.code = "EEXIST",
          .message = shown + " exists already",
          .hint = "Leave if_absent out to replace it, or choose another name",
          .path = shown};
}

ToolError missing_sha256(const std::string& shown) {
  return {.code = "PRECONDITION_FAILED",
          .message = shown + " does not exist, so it does not have that sha256",
          .hint = "Leave if_sha256 out to create it",
          .path = shown};
}

ToolError wrong_sha256(const std::string& shown, const std::string& actual,
                       std::string_view nothing_done) {
  ToolError error{.code = "PRECONDITION_FAILED",
                  .message = shown + " has sha256 " + actual + ", not the one given; " +
                             std::string(nothing_done),
                  .hint = "Read the file again and repeat the change on what is there now",
                  .path = shown};
  error.details["sha256"] = actual;
  return error;
}

}  // namespace agentbox::mcp
