// edge: see inotify_queue.h.
#include "agentbox/inotify_queue.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace agentbox::mcp {
namespace {

constexpr std::uint32_t kEvents = IN_CREATE | IN_MODIFY | IN_ATTRIB | IN_DELETE | IN_MOVED_FROM |
                                  IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF;
// What one reading takes at most, so that a flood keeps nobody else waiting.
constexpr std::size_t kReadBytes = 64UL * 1024;
constexpr int kReads = 16;

Notice notice_of(const inotify_event& event, const char* name) {
  Notice notice;
  notice.watch = event.wd;
  notice.written = (event.mask & IN_MODIFY) != 0;
  notice.renamed = (event.mask & (IN_MOVED_FROM | IN_MOVED_TO)) != 0;
  notice.ended = (event.mask & IN_IGNORED) != 0;
  notice.lost = (event.mask & (IN_Q_OVERFLOW | IN_UNMOUNT)) != 0;
  if (event.len > 0) {
    notice.name.assign(name, ::strnlen(name, event.len));
  }
  return notice;
}

}  // namespace

InotifyQueue InotifyQueue::open() {
  InotifyQueue queue;
  queue.queue_.reset(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  return queue;
}

Result<int> InotifyQueue::add(int folder) const {
  const std::string self = "/proc/self/fd/" + std::to_string(folder);
  const int watch =
      ::inotify_add_watch(queue_.get(), self.c_str(), kEvents | IN_ONLYDIR | IN_EXCL_UNLINK);
  if (watch < 0) {
    return errno_error("watch");
  }
  return watch;
}

void InotifyQueue::remove(int watch) const { (void)::inotify_rm_watch(queue_.get(), watch); }

bool InotifyQueue::read(std::vector<Notice>& notices) const {
  alignas(inotify_event) std::array<char, kReadBytes> bytes;
  for (int i = 0; i < kReads; ++i) {
    const ssize_t size = ::read(queue_.get(), bytes.data(), bytes.size());
    if (size <= 0) {
      return true;
    }
    for (std::size_t at = 0; at + sizeof(inotify_event) <= static_cast<std::size_t>(size);) {
      inotify_event event{};
      std::memcpy(&event, bytes.data() + at, sizeof(event));
      notices.push_back(notice_of(event, bytes.data() + at + sizeof(event)));
      at += sizeof(event) + event.len;
    }
  }
  return false;
}

}  // namespace agentbox::mcp
