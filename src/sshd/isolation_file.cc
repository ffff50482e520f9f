// edge: see isolation_file.h.
#include "sshd/isolation_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "base/handle.h"
#include "base/log.h"
#include "base/record.h"
#include "base/text.h"
#include "base/utc.h"

namespace agentbox::sshd {
namespace {

/// Room in one record for as many as it may list.
constexpr std::size_t kMaxShownBytes = 100;

Result<ProcessStatus> read_status(const std::string& folder) {
  const UniqueFd fd(::open((folder + "/status").c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    return errno_error(folder);
  }
  std::string text;
  std::array<char, 4096> chunk{};
  for (ssize_t got = 0; (got = ::read(fd.get(), chunk.data(), chunk.size())) > 0;) {
    text.append(chunk.data(), static_cast<std::size_t>(got));
    if (text.size() > kMaxStatusBytes) {
      return Error{Code::kLimit, folder};
    }
  }
  return parse_process_status(text);
}

// A process that is not dumpable has its files in /proc owned by root: nothing tells them apart
// from a process of root's.
std::optional<bool> is_inspectable(const std::string& folder, std::uint64_t uid) {
  struct stat info {};
  if (uid == 0 || ::stat((folder + "/environ").c_str(), &info) != 0) {
    return std::nullopt;
  }
  return info.st_uid == uid;
}

std::string now_text() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return format_time(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

Status write_whole(const std::string& path, const std::string& text) {
  const std::string next = path + ".new";
  ::unlink(next.c_str());
  const UniqueFd fd(
      ::open(next.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) {
    return errno_error(next);
  }
  AB_CHECK(write_all(fd.get(), text));
  return std::rename(next.c_str(), path.c_str()) == 0 ? Status{} : Status{errno_error(path)};
}

std::string target_of(int number) {
  std::array<char, 512> target{};
  const std::string path = "/proc/self/fd/" + std::to_string(number);
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  if (length < 0) {
    return "unknown";
  }
  return escape_text({target.data(), static_cast<std::size_t>(length)}, kMaxShownBytes);
}

}  // namespace

void IsolationFile::saw(std::string_view role, pid_t pid, std::vector<std::string> descriptors) {
  const std::string folder = "/proc/" + std::to_string(pid);
  auto status = read_status(folder);
  if (!status.ok() || status->ended) {
    return;
  }
  ProcessReading reading{std::string(role), std::move(status).value(), {}, std::move(descriptors)};
  reading.inspectable = is_inspectable(folder, reading.status.uid);
  const auto known =
      std::find_if(readings_.begin(), readings_.end(),
                   [&](const ProcessReading& each) { return each.role == reading.role; });
  if (known == readings_.end()) {
    readings_.push_back(std::move(reading));
    changed_ = true;
  } else if (!tells_the_same(*known, reading)) {
    *known = std::move(reading);
    changed_ = true;
  }
}

void IsolationFile::keep() {
  if (!changed_) {
    return;
  }
  const Status kept = write_whole(path_, render_isolation(readings_, now_text()));
  changed_ = !kept.ok();
  if (!kept.ok() && !complained_) {
    complained_ = true;
    log::warning("what is known of the door's isolation cannot be kept",
                 {{"reason", kept.error().what}});
  }
}

std::vector<std::string> own_descriptors(const std::vector<int>& connection, int monitor) {
  std::vector<std::string> held;
  const CHandle<DIR, ::closedir> folder(::opendir("/proc/self/fd"));
  if (!folder) {
    return {"unknown"};
  }
  const int looking = ::dirfd(folder.get());
  while (const dirent* entry = ::readdir(folder.get())) {
    const auto number = parse_decimal(entry->d_name);
    if (!number.ok() || static_cast<int>(*number) == looking) {
      continue;
    }
    const int fd = static_cast<int>(*number);
    if (held.size() + 1 == record::kMaxListItems) {
      held.emplace_back("and more");
      break;
    }
    const bool is_connection =
        std::find(connection.begin(), connection.end(), fd) != connection.end();
    held.push_back(std::to_string(fd) + " " +
                   (is_connection   ? "connection"
                    : fd == monitor ? "monitor"
                                    : target_of(fd)));
  }
  return held;
}

}  // namespace agentbox::sshd
