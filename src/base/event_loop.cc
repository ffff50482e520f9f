// edge: see event_loop.h.
#include "base/event_loop.h"

#include <sys/epoll.h>

#include <array>

#include "base/deadline.h"

namespace agentbox {

Result<EventLoop> EventLoop::make() {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) {
    return errno_error("epoll");
  }
  return EventLoop(std::move(epoll));
}

Status EventLoop::watch(int fd, Handler handler) {
  auto entry = std::make_unique<Entry>(Entry{std::move(handler), ++next_generation_});
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 =
      static_cast<std::uint64_t>(entry->generation) << 32U | static_cast<std::uint32_t>(fd);
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return errno_error("epoll");
  }
  entries_[fd] = std::move(entry);
  return {};
}

void EventLoop::forget(int fd) {
  const auto at = entries_.find(fd);
  if (at == entries_.end()) {
    return;
  }
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  forgotten_.push_back(std::move(at->second));
  entries_.erase(at);
}

void EventLoop::set_events(int fd, std::uint32_t events) {
  const auto at = entries_.find(fd);
  if (at == entries_.end()) {
    return;
  }
  // A hang-up is reported whatever the mask says; one-shot without events keeps a paused one quiet.
  epoll_event event{};
  event.events = events;
  event.data.u64 =
      static_cast<std::uint64_t>(at->second->generation) << 32U | static_cast<std::uint32_t>(fd);
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void EventLoop::pause(int fd) { set_events(fd, EPOLLONESHOT); }

void EventLoop::resume(int fd) { set_events(fd, EPOLLIN); }

Status EventLoop::turn(std::chrono::steady_clock::time_point deadline) {
  std::array<epoll_event, 64> events{};
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                 poll_timeout(deadline, std::chrono::steady_clock::now()));
  if (count < 0 && errno != EINTR) {
    return errno_error("epoll");
  }
  for (int i = 0; i < count; ++i) {
    const std::uint64_t tag = events[static_cast<std::size_t>(i)].data.u64;
    const auto at = entries_.find(static_cast<int>(tag & 0xffffffffU));
    if (at != entries_.end() && at->second->generation == tag >> 32U) {
      at->second->handler();
    }
  }
  forgotten_.clear();
  return {};
}

}  // namespace agentbox
