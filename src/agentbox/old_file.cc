// edge: see old_file.h.
#include "agentbox/old_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

#include "agentbox/file_bytes.h"
#include "agentbox/new_file.h"
#include "agentbox/os_error.h"
#include "base/handle.h"

namespace agentbox::mcp {
namespace {

constexpr std::size_t kZeroBytes = 256 * 1024;

// 0 where FD can now grow to NEW_SIZE without running out of space, else the errno. Holes in the
// old content are filled too.
int allocate_growth(int fd, std::uint64_t old_size, std::uint64_t new_size) {
  const auto length = static_cast<off_t>(new_size);
  if (length == 0 || ::fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, length) == 0) {
    return 0;
  }
  if (errno != EOPNOTSUPP && errno != ENOSYS) {
    return errno;
  }
  if (new_size <= old_size) {
    return 0;
  }
  const std::string zeros(kZeroBytes, '\0');
  for (std::uint64_t at = old_size; at < new_size; at += zeros.size()) {
    const auto piece = std::string_view(zeros).substr(0, new_size - at);
    if (const int number = write_all_at(fd, piece, static_cast<off_t>(at)); number != 0) {
      (void)!::ftruncate(fd, static_cast<off_t>(old_size));
      return number;
    }
  }
  return 0;
}

int sync_if(bool wanted, int fd) { return wanted && ::fsync(fd) != 0 ? errno : 0; }

// What a file is to hold: so many bytes, and what puts them there from the start on.
struct NewContent {
  std::uint64_t size = 0;
  std::function<int(int)> put;  // 0 or an errno
};

int write_content(const OldFile& file, const NewContent& content) {
  if (const int number = allocate_growth(file.fd, file.size, content.size); number != 0) {
    return number;
  }
  if (const int number = content.put(file.fd); number != 0) {
    return number;
  }
  if (::ftruncate(file.fd, static_cast<off_t>(content.size)) != 0) {
    return errno;
  }
  return sync_if(file.sync, file.fd);
}

NewContent content_of(std::string_view data) {
  return {.size = data.size(), .put = [data](int fd) { return write_all_at(fd, data, 0); }};
}

// 0, or the errno of the step that failed. RESTORED is false where the old content is nowhere any
// more but in KEPT.
int replace_content(const OldFile& file, const NewContent& content, int kept, bool& restored) {
  const int number = write_content(file, content);
  if (number != 0) {
    restored = copy_all(kept, file.fd) == 0 &&
               ::ftruncate(file.fd, static_cast<off_t>(file.size)) == 0 && ::fsync(file.fd) == 0;
  }
  return number;
}

std::optional<ToolError> overwrite_with(const OldFile& file, const NewContent& content,
                                        const std::string& keep_folder) {
  const std::string kept_path = keep_folder + "/" + random_name("kept-");
  const UniqueFd kept(
      ::open(kept_path.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0600));
  if (!kept.valid()) {
    return os_error("keep the old content in", keep_folder, errno);
  }
  int number = copy_all(file.fd, kept.get());
  if (number == 0) {
    number = sync_if(file.sync, kept.get());
  }
  if (number != 0) {
    (void)::unlink(kept_path.c_str());
    return os_error("keep the old content in", keep_folder, number);
  }
  bool restored = true;
  number = replace_content(file, content, kept.get(), restored);
  if (restored) {
    (void)::unlink(kept_path.c_str());
  }
  if (number == 0) {
    return std::nullopt;
  }
  ToolError error = os_error("write", file.shown, number);
  if (!restored) {
    error.hint = "The old content could not be put back; it is kept in " + kept_path;
  }
  return error;
}

}  // namespace

std::optional<ToolError> overwrite(const OldFile& file, std::string_view data,
                                   const std::string& keep_folder) {
  return overwrite_with(file, content_of(data), keep_folder);
}

std::optional<ToolError> overwrite_from(const OldFile& file, int source,
                                        const std::string& keep_folder) {
  struct stat info {};
  if (::fstat(source, &info) != 0) {
    return os_error("stat", file.shown, errno);
  }
  return overwrite_with(file,
                        {.size = static_cast<std::uint64_t>(info.st_size),
                         .put = [source](int fd) { return copy_all(source, fd); }},
                        keep_folder);
}

int write_over(const OldFile& file, std::string_view data) {
  return write_content(file, content_of(data));
}

std::optional<ToolError> append(const OldFile& file, std::string_view data) {
  const auto old_size = static_cast<off_t>(file.size);
  const auto growth = static_cast<off_t>(data.size());
  if (growth > 0 && ::fallocate(file.fd, FALLOC_FL_KEEP_SIZE, old_size, growth) != 0 &&
      errno != EOPNOTSUPP && errno != ENOSYS) {
    return os_error("append to", file.shown, errno);
  }
  std::string_view rest = data;
  int number = 0;
  while (!rest.empty() && number == 0) {
    const ssize_t put = ::write(file.fd, rest.data(), rest.size());
    if (put < 0 && errno != EINTR) {
      number = errno;
    } else if (put > 0) {
      rest.remove_prefix(static_cast<std::size_t>(put));
    }
  }
  if (number == 0) {
    number = sync_if(file.sync, file.fd);
  }
  if (number == 0) {
    return std::nullopt;
  }
  struct stat info {};
  (void)::fstat(file.fd, &info);
  const auto put = static_cast<off_t>(data.size() - rest.size());
  if (info.st_size == old_size + put) {  // else somebody else appended too: theirs stays
    (void)!::ftruncate(file.fd, old_size);
  }
  return os_error("append to", file.shown, number);
}

}  // namespace agentbox::mcp
