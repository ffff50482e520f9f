// edge: see session_commands.h.
#include "agentbox/session_commands.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <string_view>
#include <system_error>
#include <utility>

#include "agentbox/file_bytes.h"
#include "base/deadline.h"

namespace agentbox::mcp {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// What a pipe holds.
constexpr std::size_t kReadBytes = 64 * 1024;

// Reads once; false where there was nothing.
bool read_into(UniqueFd& fd, Spill& spill) {
  std::string buffer(kReadBytes, '\0');
  std::size_t got = 0;
  if (!fd.valid()) {
    return false;
  }
  if (!read_once(fd.get(), buffer, got)) {
    fd.reset();
    return false;
  }
  spill.add(std::string_view(buffer).substr(0, got));
  return got > 0;
}

void tell(SessionCommand& command) {
  std::erase_if(command.watchers, [](const UniqueFd& watcher) {
    return ::send(watcher.get(), "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno != EAGAIN;
  });
}

void take(SessionCommand& command, const KeeperReport& report) {
  JobRecord& record = command.record;
  if (report.event == KeeperEvent::kLeaderEnded) {
    record.leader_ended = true;
    record.exit_code = WIFEXITED(report.value) ? WEXITSTATUS(report.value) : -1;
    record.signal = WIFSIGNALED(report.value) ? WTERMSIG(report.value) : 0;
    record.cpu_us = report.cpu_us;
    record.max_rss_bytes = report.max_rss_bytes;
    command.spill.save(record);
    tell(command);
  }
}

}  // namespace

SessionCommands::~SessionCommands() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    wake();
  }
  if (thread_.joinable()) {
    thread_.join();
  }
}

void SessionCommands::wake() const {
  if (wake_.valid()) {
    (void)::eventfd_write(wake_.get(), 1);
  }
}

Status SessionCommands::prepare() {
  const std::lock_guard lock(mutex_);
  if (!wake_.valid()) {
    wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  }
  if (!wake_.valid()) {
    return errno_error("eventfd for commands");
  }
  try {
    if (!thread_.joinable()) {
      thread_ = std::thread([this] { run(); });
    }
  } catch (const std::system_error& problem) {
    return errno_error("a thread for commands", problem.code().value());
  }
  return {};
}

void SessionCommands::adopt(SessionCommand command) {
  const std::lock_guard lock(mutex_);
  command.spill.save(command.record);
  commands_.push_back(std::move(command));
  wake();
}

std::vector<JobRecord> SessionCommands::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<JobRecord> records;
  for (const SessionCommand& command : commands_) {
    records.push_back(command.record);
  }
  return records;
}

SessionCommand* SessionCommands::at(const std::string& id) {
  const auto found =
      std::find_if(commands_.begin(), commands_.end(),
                   [&](const SessionCommand& command) { return command.record.id == id; });
  return found == commands_.end() ? nullptr : &*found;
}

std::optional<JobRecord> SessionCommands::find(const std::string& id) const {
  for (JobRecord& record : list()) {
    if (record.id == id) {
      return std::move(record);
    }
  }
  return std::nullopt;
}

UniqueFd SessionCommands::watch(const std::string& id) {
  const std::lock_guard lock(mutex_);
  SessionCommand* command = at(id);
  auto pair = make_socketpair(SOCK_STREAM);
  if (command == nullptr || !pair.ok()) {
    return {};
  }
  command->watchers.push_back(std::move(pair->first));
  return std::move(pair->second);
}

bool SessionCommands::stop(const std::string& id, milliseconds grace, const std::string& why) {
  const std::lock_guard lock(mutex_);
  SessionCommand* command = at(id);
  if (command == nullptr) {
    return false;
  }
  if (!command->kill_at) {
    command->record.ended_by = why;
  }
  command->keeper.stop(grace);
  command->kill_at = steady_clock::now() + grace + kKeeperSlack;
  wake();
  return true;
}

bool SessionCommands::signal(const std::string& id, int number, bool tree) {
  const std::lock_guard lock(mutex_);
  SessionCommand* command = at(id);
  if (command == nullptr) {
    return false;
  }
  command->keeper.signal(number, tree);
  return true;
}

UniqueFd SessionCommands::terminal(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  for (const SessionCommand& command : commands_) {
    if (command.record.id == id && command.record.terminal && command.output.valid()) {
      return UniqueFd(::fcntl(command.output.get(), F_DUPFD_CLOEXEC, 0));
    }
  }
  return {};
}

void SessionCommands::run() {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (ending_) {
        break;
      }
    }
    wait();
  }
  const std::lock_guard lock(mutex_);
  for (SessionCommand& command : commands_) {
    command.keeper.stop(kOrphanGrace);  // all at once, so that they end side by side
  }
  for (SessionCommand& command : commands_) {
    command.record.ended_by = "the end of the session";
    end(command);
  }
  commands_.clear();
}

// Waits until something happens and handles it once.
void SessionCommands::wait() {
  std::vector<pollfd> polled = {{.fd = wake_.get(), .events = POLLIN, .revents = 0}};
  auto deadline = steady_clock::time_point::max();
  {
    const std::lock_guard lock(mutex_);
    for (const SessionCommand& command : commands_) {
      for (const int fd : {command.keeper.fd(), command.output.get(), command.errors.get()}) {
        polled.push_back({.fd = fd, .events = POLLIN, .revents = 0});
      }
      for (const auto& at : {command.stop_at, command.kill_at}) {
        deadline = std::min(deadline, at.value_or(deadline));
      }
    }
  }
  const bool forever = deadline == steady_clock::time_point::max();
  (void)::poll(polled.data(), polled.size(),
               forever ? -1 : poll_timeout(deadline, steady_clock::now()));
  eventfd_t ignored = 0;
  (void)::eventfd_read(wake_.get(), &ignored);
  std::vector<int> ready;
  for (const pollfd& one : polled) {
    if (one.revents != 0) {
      ready.push_back(one.fd);
    }
  }
  serve(ready);
}

void SessionCommands::serve(const std::vector<int>& ready) {
  const std::lock_guard lock(mutex_);
  for (auto command = commands_.begin(); command != commands_.end();) {
    if (serve_one(*command, ready)) {
      ++command;
    } else {
      end(*command);
      command = commands_.erase(command);
    }
  }
}

// False where it is over.
bool SessionCommands::serve_one(SessionCommand& command, const std::vector<int>& ready) {
  const auto is_ready = [&](int fd) {
    return fd >= 0 && std::find(ready.begin(), ready.end(), fd) != ready.end();
  };
  for (UniqueFd* stream : {&command.output, &command.errors}) {
    if (is_ready(stream->get()) && read_into(*stream, command.spill)) {
      tell(command);
    }
  }
  if (is_ready(command.keeper.fd())) {
    const auto report = command.keeper.receive();
    if (!report || report->event == KeeperEvent::kAllEnded) {
      return false;
    }
    take(command, *report);
  }
  const auto now = steady_clock::now();
  if (command.stop_at && now >= *command.stop_at) {
    command.stop_at.reset();
    command.record.ended_by = "timeout_seconds";
    command.keeper.stop(kStopGrace);
    command.kill_at = now + kStopGrace + kKeeperSlack;
  }
  return !command.kill_at || now < *command.kill_at;
}

// Ends it and keeps what its pipes held: no more than fits them, whoever still writes.
void SessionCommands::end(SessionCommand& command) {
  for (UniqueFd* stream : {&command.output, &command.errors}) {
    (void)read_into(*stream, command.spill);  // a full pipe may be all that keeps it from ending
  }
  command.keeper.stop(kOrphanGrace);
  while (wait_readable(command.keeper.fd(), steady_clock::now() + kOrphanGrace)) {
    const auto report = command.keeper.receive();
    if (!report) {
      break;
    }
    take(command, *report);
  }
  command.keeper.end(milliseconds(0));
  for (UniqueFd* stream : {&command.output, &command.errors}) {
    (void)read_into(*stream, command.spill);
  }
  command.record.ended_ms = now_ms();
  command.record.status = command.record.leader_ended && command.record.signal == 0
                              ? JobStatus::kExited
                              : JobStatus::kKilled;
  command.spill.save(command.record);
  command.watchers.clear();
}

}  // namespace agentbox::mcp
