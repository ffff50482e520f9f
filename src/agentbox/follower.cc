// edge: see follower.h.
#include "agentbox/follower.h"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "agentbox/file_bytes.h"
#include "agentbox/file_text.h"
#include "agentbox/new_file.h"
#include "agentbox/os_error.h"
#include "base/deadline.h"

namespace agentbox::mcp {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kPieceBytes = 64 * 1024;
// Where the kernel tells of changes: how often the name is looked at all the same, since it may be
// another file by now.
constexpr std::chrono::milliseconds kLookInterval{500};
// Where it does not: how late a change may be seen.
constexpr std::chrono::milliseconds kPollInterval{100};

// The kernel's word that an open file changed, where it gives one.
class ChangeNotice {
 public:
  explicit ChangeNotice(bool available)
      : queue_(available ? ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK) : -1) {}

  void watch(int file) {
    if (watch_ >= 0) {
      (void)::inotify_rm_watch(queue_.get(), watch_);
    }
    // By its descriptor: the name may lead elsewhere, also out of the workspace.
    const std::string self = "/proc/self/fd/" + std::to_string(file);
    watch_ = queue_.valid() ? ::inotify_add_watch(queue_.get(), self.c_str(),
                                                  IN_MODIFY | IN_MOVE_SELF | IN_DELETE_SELF)
                            : -1;
  }

  void wait(Clock::time_point deadline, int cancel_fd) {
    const Clock::time_point now = Clock::now();
    deadline = std::min(deadline, now + (watch_ >= 0 ? kLookInterval : kPollInterval));
    std::array<pollfd, 2> polled{pollfd{queue_.get(), POLLIN, 0}, pollfd{cancel_fd, POLLIN, 0}};
    (void)::poll(polled.data(), polled.size(), poll_timeout(deadline, now));
    std::array<char, 4096> events;
    while (queue_.valid() && ::read(queue_.get(), events.data(), events.size()) > 0) {
    }
  }

 private:
  UniqueFd queue_;
  int watch_ = -1;
};

bool is_readable(int fd) {
  pollfd polled{fd, POLLIN, 0};
  return fd >= 0 && ::poll(&polled, 1, 0) > 0;
}

std::string_view last_line(std::string_view bytes) {
  std::string_view line = last_lines(bytes, 1);
  while (line.ends_with('\n') || line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  return line;
}

class Follower {
 public:
  Follower(const Workspace& workspace, const BoxPath& path, const FollowRequest& request,
           Opened file)
      : workspace_(workspace),
        path_(path),
        request_(request),
        file_(std::move(file)),
        notice_(workspace.features().inotify) {}

  Outcome<Followed> run() {
    const Clock::time_point deadline = Clock::now() + request_.time;
    begin();
    notice_.watch(file_.fd.get());
    for (;;) {
      AB_TRY(grew, read_more());
      if (result_.matched || result_.bytes.size() >= request_.max_bytes ||
          is_readable(request_.cancel_fd)) {
        break;
      }
      if (grew || look_for_rotation()) {
        continue;
      }
      if (Clock::now() >= deadline) {
        break;
      }
      notice_.wait(deadline, request_.cancel_fd);
    }
    finish();
    return std::move(result_);
  }

 private:
  void begin() {
    const auto size = static_cast<std::uint64_t>(file_.info.st_size);
    result_.start = request_.start.value_or(size);
    if (result_.start > size) {
      result_.start = 0;
      result_.rotated = true;
    }
    result_.end = result_.start;
  }

  // Takes what is there now, one piece of it; false where there is nothing new.
  Outcome<bool> read_more() {
    const std::size_t room = request_.max_bytes - result_.bytes.size();
    // One byte more than there is room for tells whether the rest had to stay behind.
    auto piece = read_at(file_.fd.get(), result_.end, std::min(room + 1, kPieceBytes));
    if (!piece.ok()) {
      return os_error(file_.shown, piece.error());
    }
    result_.truncated = piece->size() > room;
    piece->resize(std::min(piece->size(), room));
    if (piece->empty()) {
      return false;
    }
    result_.end += piece->size();
    result_.bytes += *piece;
    look_for_match(piece->size());
    request_.progress(result_.bytes.size(), last_line(result_.bytes));
    return true;
  }

  // Looks at the lines that the last NEW_BYTES belong to.
  void look_for_match(std::size_t new_bytes) {
    if (!request_.until) {
      return;
    }
    const std::string_view bytes = result_.bytes;
    const std::size_t before = bytes.size() - new_bytes;
    const std::size_t newline =
        before == 0 ? std::string_view::npos : bytes.rfind('\n', before - 1);
    std::string_view lines = bytes.substr(newline == std::string_view::npos ? 0 : newline + 1);
    while (!result_.matched && !lines.empty()) {
      const std::size_t end = std::min(lines.find('\n'), lines.size());
      result_.matched = request_.until->found_in(lines.substr(0, end));
      lines.remove_prefix(std::min(end + 1, lines.size()));
    }
  }

  // True where reading goes on at the beginning of the same file or of another.
  bool look_for_rotation() {
    struct stat info {};
    if (::fstat(file_.fd.get(), &info) == 0 &&
        static_cast<std::uint64_t>(info.st_size) < result_.end) {
      start_over();
      return true;
    }
    auto named = workspace_.open_file(path_);
    if (!named.ok() || same_file(named->info, info)) {
      return false;
    }
    file_ = std::move(*named);
    notice_.watch(file_.fd.get());
    start_over();
    return true;
  }

  void start_over() {
    result_.end = 0;
    result_.rotated = true;
  }

  // Leaves out half characters at the ends: the next call gets the last one whole.
  void finish() {
    const Trimmed whole = trim_to_characters(result_.bytes, result_.bytes.size(),
                                             result_.start == 0 || result_.rotated, false);
    const std::size_t stump = result_.bytes.size() - whole.start - whole.bytes.size();
    if (result_.bytes.empty() || stump > result_.end) {
      return;
    }
    result_.start += whole.start;
    result_.end -= stump;
    result_.bytes = std::string(whole.bytes);
  }

  const Workspace& workspace_;
  const BoxPath& path_;
  const FollowRequest& request_;
  Opened file_;
  ChangeNotice notice_;
  Followed result_;
};

}  // namespace

Outcome<Followed> follow_file(const Workspace& workspace, const BoxPath& path,
                              const FollowRequest& request) {
  AB_TRY(file, workspace.open_file(path));
  return Follower(workspace, path, request, std::move(file)).run();
}

}  // namespace agentbox::mcp
