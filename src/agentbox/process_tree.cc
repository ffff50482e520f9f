// edge: see process_tree.h.
#include "agentbox/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace agentbox::mcp {
namespace {

// Rounds of stopping before the killing starts. Two are enough for a quiet tree; one that forks
// faster than it is listed is thinned out by killing what was found so far.
constexpr int kFreezeRounds = 8;
// How often a wait without pidfd looks again.
constexpr int kReapPollMs = 5;

// "/proc/" and two numbers, built without allocation.
class ProcPath {
 public:
  ProcPath& add(std::string_view text) {
    const std::size_t room = sizeof(text_) - 1 - length_;
    const std::size_t take = std::min(room, text.size());
    std::memcpy(text_ + length_, text.data(), take);
    length_ += take;
    text_[length_] = '\0';
    return *this;
  }
  ProcPath& add(pid_t number) {
    char digits[16];
    std::size_t at = sizeof(digits);
    auto rest = static_cast<unsigned>(number);
    do {
      digits[--at] = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest != 0);
    return add(std::string_view(digits + at, sizeof(digits) - at));
  }
  [[nodiscard]] int open(int flags) const {
    int fd = -1;
    do {
      fd = ::open(text_, flags | O_CLOEXEC);
    } while (fd < 0 && errno == EINTR);
    return fd;
  }

 private:
  char text_[96] = {};
  std::size_t length_ = 0;
};

ssize_t read_some(int fd, char* to, std::size_t size) {
  ssize_t got = 0;
  do {
    got = ::read(fd, to, size);
  } while (got < 0 && errno == EINTR);
  return got;
}

void found(pid_t pid, int signal, PidList& list) {
  if (list.push(pid) && signal != 0) {
    ::kill(pid, signal);
  }
}

// Appends the decimal numbers of the open file, which are separated by spaces, and signals each
// process at once: a moment later it may have forked and gone.
void append_numbers(int fd, int signal, PidList& list) {
  char chunk[1024];
  pid_t number = 0;
  bool within = false;
  for (ssize_t got = 0; (got = read_some(fd, chunk, sizeof(chunk))) > 0;) {
    for (const char byte : std::string_view(chunk, static_cast<std::size_t>(got))) {
      if (byte >= '0' && byte <= '9') {
        number = number * 10 + (byte - '0');
        within = true;
      } else if (within) {
        found(number, signal, list);
        number = 0;
        within = false;
      }
    }
  }
  if (within) {
    found(number, signal, list);
  }
}

// The number a directory entry's name spells, 0 where it spells none.
pid_t entry_number(const char* name) {
  pid_t number = 0;
  for (; *name != '\0'; ++name) {
    if (*name < '0' || *name > '9') {
      return 0;
    }
    number = number * 10 + (*name - '0');
  }
  return number;
}

bool is_zombie(pid_t pid) {
  const int fd = ProcPath().add("/proc/").add(pid).add("/stat").open(O_RDONLY);
  if (fd < 0) {
    return true;  // gone altogether
  }
  char text[512];
  const ssize_t got = read_some(fd, text, sizeof(text));
  ::close(fd);
  const std::string_view line(text, got > 0 ? static_cast<std::size_t>(got) : 0);
  const std::size_t bracket = line.rfind(')');  // the name before it may hold anything
  if (bracket == std::string_view::npos || bracket + 2 >= line.size()) {
    return true;
  }
  const char state = line[bracket + 2];
  return state == 'Z' || state == 'X';
}

void signal_all(const PidList& list, int signal) {
  for (const pid_t pid : list.view()) {
    ::kill(pid, signal);
  }
}

}  // namespace

namespace {

void find_children(pid_t pid, int signal, PidList& list) {
  const int tasks = ProcPath().add("/proc/").add(pid).add("/task").open(O_RDONLY | O_DIRECTORY);
  if (tasks < 0) {
    return;
  }
  alignas(8) char entries[2048];
  long got = 0;
  while ((got = ::syscall(SYS_getdents64, tasks, entries, sizeof(entries))) > 0) {
    for (long at = 0; at < got;) {
      // The kernel's linux_dirent64: u64 inode, s64 offset, u16 length, u8 type, name.
      unsigned short length = 0;
      std::memcpy(&length, entries + at + 16, sizeof(length));
      const pid_t thread = entry_number(entries + at + 19);
      at += length;
      if (thread == 0) {
        continue;
      }
      const int fd = ProcPath()
                         .add("/proc/")
                         .add(pid)
                         .add("/task/")
                         .add(thread)
                         .add("/children")
                         .open(O_RDONLY);
      if (fd >= 0) {
        append_numbers(fd, signal, list);
        ::close(fd);
      }
    }
  }
  ::close(tasks);
}

void find_descendants(pid_t pid, int signal, PidList& list) {
  list.count = 0;
  find_children(pid, signal, list);
  for (std::size_t at = 0; at < list.count; ++at) {
    find_children(list.pids[at], signal, list);
  }
}

bool is_subset(const PidList& sorted, const PidList& of) {
  return std::includes(of.view().begin(), of.view().end(), sorted.view().begin(),
                       sorted.view().end());
}

void sort(PidList& list) {
  std::sort(list.pids.begin(), list.pids.begin() + static_cast<std::ptrdiff_t>(list.count));
}

}  // namespace

void append_children(pid_t pid, PidList& list) { find_children(pid, 0, list); }

void find_tree(pid_t pid, PidList& list) { find_descendants(pid, 0, list); }

std::size_t count_live_descendants(pid_t pid, PidList& scratch) {
  find_descendants(pid, 0, scratch);
  std::size_t live = 0;
  for (const pid_t each : scratch.view()) {
    live += is_zombie(each) ? 0U : 1U;
  }
  return live;
}

void signal_descendants(pid_t pid, int signal, PidList& scratch) {
  find_descendants(pid, 0, scratch);
  signal_all(scratch, signal);
}

void freeze_and_kill_descendants(pid_t pid, SweepRoom& room) {
  find_descendants(pid, SIGSTOP, room.now);
  sort(room.now);
  for (int round = 1; round < kFreezeRounds; ++round) {
    room.before = room.now;
    find_descendants(pid, SIGSTOP, room.now);
    sort(room.now);
    if (is_subset(room.now, room.before)) {
      break;
    }
  }
  signal_all(room.now, SIGKILL);
}

void set_oom_score(pid_t pid, std::string_view score) {
  const int fd = ProcPath().add("/proc/").add(pid).add("/oom_score_adj").open(O_WRONLY);
  if (fd >= 0) {
    (void)!::write(fd, score.data(), score.size());
    ::close(fd);
  }
}

bool reap_child(pid_t pid, std::chrono::steady_clock::time_point deadline, int* status) {
  using std::chrono::milliseconds;
  const int handle = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  bool reaped = false;
  for (;;) {
    const pid_t got = ::waitpid(pid, status, WNOHANG);
    if (got == pid || (got < 0 && errno != EINTR)) {
      reaped = true;
      break;
    }
    const auto left =
        std::chrono::duration_cast<milliseconds>(deadline - std::chrono::steady_clock::now())
            .count();
    if (left <= 0) {
      break;
    }
    struct pollfd waiting = {.fd = handle, .events = POLLIN, .revents = 0};
    const auto wait = handle < 0 ? std::min<long>(left, kReapPollMs) : std::min<long>(left, 1000);
    (void)::poll(&waiting, handle < 0 ? 0 : 1, static_cast<int>(wait));
  }
  if (handle >= 0) {
    ::close(handle);
  }
  return reaped;
}

bool kill_other_children(std::span<const pid_t> keep,
                         std::chrono::steady_clock::time_point deadline) {
  PidList children;
  PidList below;
  for (;;) {
    children.count = 0;
    append_children(::getpid(), children);
    bool any = false;
    for (const pid_t child : children.view()) {
      if (std::find(keep.begin(), keep.end(), child) != keep.end()) {
        continue;
      }
      any = true;
      // Nothing is stopped here: should we be killed half way, nothing stopped must be left behind.
      find_descendants(child, SIGKILL, below);
      ::kill(child, SIGKILL);
      if (!reap_child(child, deadline)) {
        return false;
      }
    }
    if (!any) {
      return true;
    }
  }
}

}  // namespace agentbox::mcp
