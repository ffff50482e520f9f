// edge: see box_watcher.h.
#include "agentbox/box_watcher.h"

#include <sys/eventfd.h>
#include <sys/stat.h>

#include <algorithm>
#include <system_error>

#include "agentbox/job_folder.h"
#include "agentbox/process_output.h"
#include "agentbox/processes.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

// Words of numbers, for comparing only.
class StateText {
 public:
  template <typename T>
  StateText& add(T number) {
    text_ += std::to_string(number) + " ";
    return *this;
  }
  StateText& add(const std::string& word) {
    text_ += word + " ";
    return *this;
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string file_state(Box& box, const ResourceUri& uri) {
  const auto path = box.workspace->parse(uri.path);
  if (!path.ok()) {
    return {};
  }
  const auto entry = box.workspace->open_entry(*path);
  struct stat info {};
  if (!entry.ok() || ::fstat(entry->get(), &info) != 0) {
    return {};
  }
  return StateText()
      .add(info.st_dev)
      .add(info.st_ino)
      .add(info.st_mode)
      .add(info.st_size)
      .add(info.st_mtim.tv_sec)
      .add(info.st_mtim.tv_nsec)
      .add(info.st_ctim.tv_sec)
      .add(info.st_ctim.tv_nsec)
      .take();
}

std::string record_state(const JobRecord& record) {
  return StateText()
      .add(record.id)
      .add(static_cast<int>(record.status))
      .add(record.exit_code)
      .add(record.signal)
      .add(static_cast<int>(record.leader_ended))
      .add(record.restarts)
      .add(record.pid)
      .take();
}

std::string process_state(Box& box, const ResourceUri& uri) {
  const Processes processes(box);
  const auto record = processes.find(uri.process);
  if (!record.ok()) {
    return {};
  }
  return uri.kind == ResourceKind::kProcess
             ? record_state(*record)
             : StateText().add(record->id).add(log_end(processes, *record)).take();
}

// Which processes live, contexts among them.
std::string live_state(Box& box, bool contexts) {
  std::vector<std::string> live;
  for (const JobRecord& record : Processes(box).list()) {
    if (record.status == JobStatus::kRunning) {
      live.push_back(record.id);
    }
  }
  if (contexts) {
    for (const JobRecord& record : JobFolder(box.workspace->output_folder()).list()) {
      if (record.kind == JobKind::kContext && record.status == JobStatus::kRunning) {
        live.push_back(record.id);
      }
    }
  }
  std::sort(live.begin(), live.end());
  std::string state;
  for (const std::string& id : live) {
    state += id + " ";
  }
  return state;
}

// A path that the workspace refuses can never be read.
bool is_in_reach(const Box& box, const std::string& uri) {
  const auto parsed = parse_resource_uri(uri);
  return !parsed.ok() || parsed->kind != ResourceKind::kFile ||
         box.workspace->parse(parsed->path).ok();
}

}  // namespace

std::string resource_state(Box& box, const std::string& uri) {
  if (uri == kResourceList) {
    return live_state(box, false);
  }
  const auto parsed = parse_resource_uri(uri);
  if (!parsed.ok()) {
    return {};
  }
  switch (parsed->kind) {
    case ResourceKind::kFile:
      return file_state(box, *parsed);
    case ResourceKind::kProcess:
    case ResourceKind::kOutput:
      return process_state(box, *parsed);
    case ResourceKind::kStatus:
      return live_state(box, true);
    default:
      return {};
  }
}

Result<std::unique_ptr<BoxWatcher>> BoxWatcher::create(Box& box) {
  UniqueFd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.valid()) {
    return errno_error("eventfd for changes of resources");
  }
  return std::unique_ptr<BoxWatcher>(new BoxWatcher(
      box, std::move(event)));  // NOLINT(cppcoreguidelines-owning-memory): private constructor
}

BoxWatcher::~BoxWatcher() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

bool BoxWatcher::end(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  ending_ = true;
  changed_.notify_all();
  return changed_.wait_until(lock, deadline, [this] { return over_; });
}

// The first watch starts the thread, which then stays: an idle one waits and costs its stack.
bool BoxWatcher::run_thread() {
  if (thread_.joinable()) {
    return true;
  }
  try {
    over_ = false;
    thread_ = std::thread([this] { run(); });
    return true;
  } catch (const std::system_error&) {
    over_ = true;
    return false;
  }
}

void BoxWatcher::start(StartWatch watch) {
  const std::lock_guard lock(mutex_);
  if (!run_thread()) {
    post({.key = watch.key, .kind = WatchEvent::Kind::kFailed});
    return;
  }
  watches_.emplace(watch.key, Watch{.uri = std::move(watch.uri), .state = {}});
  changed_.notify_all();
}

void BoxWatcher::stop(StopWatch watch) {
  const std::lock_guard lock(mutex_);
  watches_.erase(watch.key);
}

std::vector<WatchEvent> BoxWatcher::take_events() {
  eventfd_t count = 0;
  static_cast<void>(::eventfd_read(event_.get(), &count));
  const std::lock_guard lock(mutex_);
  return std::exchange(events_, {});
}

void BoxWatcher::post(WatchEvent event) {
  // A session that takes no events gets one notice of each watch, not a queue of them.
  const bool known = std::any_of(events_.begin(), events_.end(), [&](const WatchEvent& one) {
    return one.key == event.key && one.kind == event.kind;
  });
  if (!known) {
    events_.push_back(event);
    static_cast<void>(::eventfd_write(event_.get(), 1));
  }
}

void BoxWatcher::run() {
  std::unique_lock lock(mutex_);
  auto next = std::chrono::steady_clock::now();
  while (!ending_) {
    const auto is_new = [this] {
      return std::any_of(watches_.begin(), watches_.end(),
                         [](const auto& one) { return !one.second.state; });
    };
    if (watches_.empty()) {
      changed_.wait(lock, [this] { return ending_ || !watches_.empty(); });
    } else {
      changed_.wait_until(lock, next, [&] { return ending_ || is_new(); });
    }
    const auto now = std::chrono::steady_clock::now();
    const bool all = now >= next;
    if (all) {
      next = now + kLookInterval;
    }
    std::vector<std::pair<WatchKey, std::string>> due;
    for (const auto& [key, watch] : watches_) {
      if (all || !watch.state) {
        due.emplace_back(key, watch.uri);
      }
    }
    lock.unlock();
    for (const auto& [key, uri] : due) {
      look(key, uri);
    }
    lock.lock();
  }
  over_ = true;
  changed_.notify_all();
}

void BoxWatcher::look(WatchKey key, const std::string& uri) {
  const bool in_reach = is_in_reach(box_, uri);
  std::string state = in_reach ? resource_state(box_, uri) : std::string();
  const std::lock_guard lock(mutex_);
  const auto at = watches_.find(key);
  if (ending_ || at == watches_.end()) {
    return;  // stopped meanwhile
  }
  if (!in_reach) {
    watches_.erase(at);
    post({.key = key, .kind = WatchEvent::Kind::kFailed});
    return;
  }
  std::optional<std::string>& last = at->second.state;
  if (!last) {
    post({.key = key, .kind = WatchEvent::Kind::kStarted});
  } else if (*last != state) {
    post({.key = key, .kind = WatchEvent::Kind::kChanged});
  }
  last = std::move(state);
}

}  // namespace agentbox::mcp
