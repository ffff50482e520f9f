// edge: see state_folder.h.
#include "sshd/state_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "base/log.h"
#include "sshd/door_state.h"

namespace agentbox::sshd {
namespace {

constexpr std::size_t kMaxStateBytes = 256;
constexpr unsigned kMode = 0600;

// The file's text, empty where it is new. Neither a link nor anything but a regular file.
Result<std::string> read_state(int fd, const std::string& path) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) {
    return errno_error(path);
  }
  if (!S_ISREG(info.st_mode)) {
    return Error{Code::kInvalid, path + ": not a regular file"};
  }
  auto text = read_fd_capped(fd, kMaxStateBytes);
  if (!text.ok()) {
    return std::move(text).error().in(path);
  }
  return text;
}

// What to do with a file that says nothing this build understands.
Error unusable(Error why, const std::string& path) {
  why.what = path + " cannot be used (" + why.what +
             "): put it back from a backup; removing it forgets which keys were in force and where "
             "the audit stood";
  return why;
}

std::string generation_path(const std::string& folder) { return folder + "/keys_generation"; }

Status put(int fd, const AuditHead& head) {
  const std::string text = render_head(head);
  const ssize_t written = ::pwrite(fd, text.data(), text.size(), 0);
  return written == static_cast<ssize_t>(text.size()) ? Status{} : errno_error("audit_head");
}

}  // namespace

Result<HeadFile> HeadFile::open(const std::string& folder) {
  const std::string path = folder + "/audit_head";
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, kMode));
  if (!fd) {
    return errno_error(path);
  }
  AB_TRY(text, read_state(fd.get(), path));
  HeadFile file(std::move(fd), {});
  if (text.empty()) {
    AB_CHECK(put(file.fd_.get(), file.head_));
    file.sync();
    return file;
  }
  auto head = parse_head(text);
  if (!head.ok()) {
    return unusable(std::move(head).error(), path);
  }
  file.head_ = std::move(head).value();
  return file;
}

void HeadFile::advance(AuditHead head) {
  head_ = std::move(head);
  if (!fd_) {
    return;
  }
  if (const Status kept = put(fd_.get(), head_); !kept.ok() && !complained_) {
    complained_ = true;
    log::error("the audit's head cannot be kept", {{"reason", kept.error().what}});
  }
}

void HeadFile::sync() const {
  if (fd_) {
    static_cast<void>(::fdatasync(fd_.get()));
  }
}

Result<std::uint64_t> read_generation(const std::string& folder) {
  const std::string path = generation_path(folder);
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd) {
    return errno == ENOENT ? Result<std::uint64_t>(0) : errno_error(path);
  }
  AB_TRY(text, read_state(fd.get(), path));
  auto value = parse_generation(text);
  return value.ok() ? std::move(value) : unusable(std::move(value).error(), path);
}

Status forget_generation(const std::string& folder) {
  return replace_file(generation_path(folder), render_generation(0), kMode);
}

Result<GenerationFile> GenerationFile::open(const std::string& folder) {
  AB_TRY(highest, read_generation(folder));
  GenerationFile file(generation_path(folder), highest);
  file.kept_ = false;
  AB_CHECK(file.keep());
  return file;
}

Status GenerationFile::raise(std::uint64_t generation) {
  if (generation > highest_) {
    highest_ = generation;
    kept_ = false;
  }
  return keep();
}

Status GenerationFile::keep() {
  if (kept_ || path_.empty()) {
    return {};
  }
  AB_CHECK(replace_file(path_, render_generation(highest_), kMode));
  kept_ = true;
  return {};
}

}  // namespace agentbox::sshd
