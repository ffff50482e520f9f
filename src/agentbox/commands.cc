// edge: see commands.h.
#include "agentbox/commands.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "agentbox/box.h"
#include "agentbox/file_bytes.h"
#include "agentbox/job_id.h"
#include "agentbox/job_input.h"
#include "agentbox/keeper.h"
#include "agentbox/os_error.h"
#include "agentbox/session_commands.h"
#include "agentbox/spill.h"
#include "agentbox/terminal.h"
#include "base/deadline.h"
#include "base/random.h"

namespace agentbox::mcp {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using TimePoint = steady_clock::time_point;

// What a pipe holds.
constexpr std::size_t kReadBytes = 64 * 1024;
// Of its id: enough to tell the commands of a session apart.
constexpr std::size_t kNameDigits = 8;
// A keeper answers at once unless agent code stopped it.
constexpr milliseconds kCountTime{1000};

// The data as an open file at its start.
Outcome<UniqueFd> input_file(const std::optional<std::string>& data) {
  if (!data) {
    UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    return null.valid() ? Outcome<UniqueFd>(std::move(null)) : os_error("open", "/dev/null", errno);
  }
  UniqueFd file(::memfd_create("stdin", MFD_CLOEXEC));
  if (!file.valid() || !write_all(file.get(), *data).ok() ||
      ::lseek(file.get(), 0, SEEK_SET) != 0) {
    return os_error("hold", "stdin", errno);
  }
  return file;
}

class CommandRun {
 public:
  CommandRun(Box& box, CallContext& context, const CommandRequest& request)
      : box_(box),
        context_(context),
        request_(request),
        spill_(box.workspace->output_folder(), box.settings.out, id_) {
    result_.output = HeadTail(request.inline_bytes);
    result_.errors = HeadTail(request.inline_bytes);
  }

  Outcome<CommandResult> run();

 private:
  enum class Phase { kRunning, kDraining, kStopping, kOver };

  [[nodiscard]] std::optional<ToolError> start();
  [[nodiscard]] std::optional<ToolError> make_streams();
  [[nodiscard]] std::optional<ToolError> start_keeper();
  void feed_terminal();
  [[nodiscard]] bool yields() const;
  [[nodiscard]] JobRecord record() const;
  void hand_over();
  void wait();
  void read_reports();
  void take(const KeeperReport& report);
  void read_stream(UniqueFd& fd, HeadTail& stream);
  void drain_rest();
  void advance();
  void stop(CommandStatus why);
  void settle_background();
  [[nodiscard]] bool streams_over() const { return !output_.valid() && !errors_.valid(); }

  Box& box_;
  CallContext& context_;
  const CommandRequest& request_;
  const std::string id_ = random_hex(kJobIdBytes);
  const std::int64_t begun_ms_ = now_ms();
  CommandResult result_;
  Spill spill_;
  std::optional<Keeper> keeper_;
  UniqueFd input_;  // the command's, until it has been started
  UniqueFd their_output_;
  UniqueFd their_errors_;
  UniqueFd output_;
  UniqueFd errors_;
  std::optional<JobInput> typed_;  // what its terminal has not taken yet
  std::string buffer_ = std::string(kReadBytes, '\0');
  Phase phase_ = Phase::kRunning;
  TimePoint started_{};
  TimePoint deadline_{};  // of the phase
  bool keeper_gone_ = false;
  bool all_ended_ = false;
  int spawn_error_ = 0;
  pid_t leader_ = -1;
  std::int64_t live_ = 0;
};

std::optional<ToolError> CommandRun::make_streams() {
  if (request_.terminal) {
    auto terminal = make_terminal(kTerminalColumns, kTerminalRows);
    if (!terminal.ok()) {
      return os_error("make a terminal for", "the command", terminal.error().os_errno);
    }
    output_ = std::move(terminal->first);
    their_output_ = std::move(terminal->second);
    return std::nullopt;
  }
  auto input = input_file(request_.input);
  if (!input.ok()) {
    return std::move(input).error();
  }
  auto output = make_pipe();
  auto errors = make_pipe();
  if (!output.ok() || !errors.ok()) {
    return os_error("make a pipe for", "the command", EMFILE);
  }
  input_ = std::move(*input);
  output_ = std::move(output->first);
  their_output_ = std::move(output->second);
  if (!request_.merge_errors) {
    errors_ = std::move(errors->first);
    their_errors_ = std::move(errors->second);
  }
  (void)set_nonblocking(output_.get(), true);
  (void)set_nonblocking(errors_.get(), true);
  return std::nullopt;
}

std::optional<ToolError> CommandRun::start_keeper() {
  if (const Status ready = box_.commands->prepare(); !ready.ok()) {
    return spawn_failed(request_.argv.front(), ready.error().os_errno);
  }
  auto keeper = box_.keepers.start(
      {.programs = request_.programs,
       .argv = request_.argv,
       .environment = request_.environment,
       .folder = request_.folder,
       .input = request_.terminal ? their_output_.get() : input_.get(),
       .output = their_output_.get(),
       .errors = their_errors_.valid() ? their_errors_.get() : their_output_.get(),
       .terminal = request_.terminal});
  input_.reset();
  their_output_.reset();
  their_errors_.reset();
  if (keeper.ok()) {
    keeper_.emplace(std::move(*keeper));
    return std::nullopt;
  }
  if (keeper.error().code == Code::kLimit) {
    return ToolError{.code = "TOO_MANY_PROCESSES",
                     .message = keeper.error().what,
                     .hint = "End some with process_kill, or open a new session"};
  }
  return spawn_failed(request_.argv.front(), keeper.error().os_errno);
}

std::optional<ToolError> CommandRun::start() {
  if (auto error = make_streams()) {
    return error;
  }
  if (auto error = start_keeper()) {
    return error;
  }
  started_ = steady_clock::now();
  deadline_ = started_ + request_.timeout;
  if (!request_.terminal || !request_.input) {
    return std::nullopt;
  }
  auto typed = input_file(request_.input);
  if (!typed.ok()) {
    return std::move(typed).error();
  }
  typed_.emplace(std::move(*typed), request_.input->size(), true);
  feed_terminal();
  return std::nullopt;
}

void CommandRun::feed_terminal() {
  if (typed_ && typed_->write_to(output_.get())) {
    typed_.reset();
  }
}

bool CommandRun::yields() const {
  return request_.yield > milliseconds(0) && steady_clock::now() >= started_ + request_.yield;
}

void CommandRun::wait() {
  const bool may_yield = phase_ == Phase::kRunning && request_.yield > milliseconds(0);
  const auto until = may_yield ? std::min(deadline_, started_ + request_.yield) : deadline_;
  const int left = poll_timeout(until, steady_clock::now());
  const auto terminal_events = static_cast<short>(typed_ ? POLLIN | POLLOUT : POLLIN);
  std::array<pollfd, 4> ready{{
      {.fd = keeper_gone_ ? -1 : keeper_->fd(), .events = POLLIN, .revents = 0},
      {.fd = output_.get(), .events = terminal_events, .revents = 0},
      {.fd = errors_.get(), .events = POLLIN, .revents = 0},
      {.fd = phase_ == Phase::kStopping ? -1 : context_.cancel_fd(),
       .events = POLLIN,
       .revents = 0},
  }};
  (void)::poll(ready.data(), ready.size(), left);
  if ((ready[1].revents & POLLOUT) != 0) {
    feed_terminal();
  }
  if ((ready[1].revents & ~POLLOUT) != 0) {
    read_stream(output_, result_.output);
  }
  if (ready[2].revents != 0) {
    read_stream(errors_, result_.errors);
  }
  if (ready[0].revents != 0) {
    read_reports();
  }
}

void CommandRun::read_stream(UniqueFd& fd, HeadTail& stream) {
  std::size_t got = 0;
  if (!read_once(fd.get(), buffer_, got)) {
    fd.reset();
    return;
  }
  const auto piece = std::string_view(buffer_).substr(0, got);
  stream.add(piece);
  spill_.add(piece);
  if (stream.is_cut()) {
    spill_.open();
  }
  if (context_.wants_progress()) {
    const std::uint64_t total = result_.output.total() + result_.errors.total();
    context_.progress(static_cast<double>(total), std::to_string(total) + " bytes of output");
  }
}

void CommandRun::read_reports() {
  const auto report = keeper_->receive();
  if (!report) {
    keeper_gone_ = true;
    return;
  }
  take(*report);
}

void CommandRun::take(const KeeperReport& report) {
  switch (report.event) {
    case KeeperEvent::kStarted:
      leader_ = report.value;
      break;
    case KeeperEvent::kFailed:
      spawn_error_ = report.value;
      break;
    case KeeperEvent::kLeaderEnded:
      result_.exit_code = WIFEXITED(report.value) ? WEXITSTATUS(report.value) : -1;
      result_.signal = WIFSIGNALED(report.value) ? WTERMSIG(report.value) : 0;
      result_.cpu_us = report.cpu_us;
      result_.max_rss_bytes = report.max_rss_bytes;
      result_.duration = std::chrono::duration_cast<milliseconds>(steady_clock::now() - started_);
      live_ = report.live;
      if (phase_ == Phase::kRunning) {
        phase_ = Phase::kDraining;
        deadline_ = steady_clock::now() + kDrainTime;
      }
      break;
    case KeeperEvent::kCounted:
      live_ = report.live;
      break;
    case KeeperEvent::kAllEnded:
      all_ended_ = true;
      live_ = 0;
      break;
  }
}

void CommandRun::stop(CommandStatus why) {
  result_.status = why;
  phase_ = Phase::kStopping;
  keeper_->stop(kStopGrace);
  deadline_ = steady_clock::now() + kStopGrace + kKeeperSlack;
}

// Reads what is in the pipes now; nobody writes any more, or nobody is waited for any more.
void CommandRun::drain_rest() {
  for (auto* stream : {&output_, &errors_}) {
    while (stream->valid() && wait_readable(stream->get(), steady_clock::now())) {
      const std::uint64_t before = result_.output.total() + result_.errors.total();
      read_stream(*stream, stream == &output_ ? result_.output : result_.errors);
      if (result_.output.total() + result_.errors.total() == before) {
        break;
      }
    }
  }
}

void CommandRun::advance() {
  const bool ended = all_ended_ || keeper_gone_;
  if (ended) {
    if (phase_ == Phase::kRunning && spawn_error_ == 0) {
      result_.status =
          CommandStatus::kKilled;  // its keeper was killed from outside, and so is all of it
    }
    keeper_->end(milliseconds(0));
    drain_rest();
    phase_ = Phase::kOver;
  } else if (phase_ == Phase::kRunning && context_.cancelled()) {
    stop(CommandStatus::kCancelled);
  } else if (phase_ == Phase::kRunning && steady_clock::now() < deadline_ && yields()) {
    result_.status = CommandStatus::kRunning;
    phase_ = Phase::kOver;
  } else if (phase_ == Phase::kDraining && (streams_over() || context_.cancelled())) {
    phase_ = Phase::kOver;
  } else if (steady_clock::now() >= deadline_) {
    if (phase_ == Phase::kRunning) {
      stop(CommandStatus::kTimedOut);
    } else {
      phase_ = Phase::kOver;
    }
  }
}

JobRecord CommandRun::record() const {
  JobRecord record;
  record.id = id_;
  record.name = "shell-" + id_.substr(0, kNameDigits);
  record.kind = JobKind::kCommand;
  record.command = request_.shown;
  record.folder = request_.shown_folder;
  record.pid = leader_;
  record.keeper_pid = ::getpid();
  record.keeper_start = box_.own_start;
  record.started_ms = begun_ms_;
  record.exit_code = result_.exit_code;
  record.signal = result_.signal;
  record.leader_ended = result_.status != CommandStatus::kRunning;
  record.terminal = request_.terminal;
  record.session = box_.settings.session;
  record.cpu_us = result_.cpu_us;
  record.max_rss_bytes = result_.max_rss_bytes;
  return record;
}

// From here on it is the session's.
void CommandRun::hand_over() {
  spill_.open();  // what it prints from now on can be read there
  result_.process_id = id_;
  result_.output_path = spill_.path();
  result_.output_dropped = spill_.dropped();
  box_.commands->adopt({.keeper = std::move(*keeper_),
                        .output = std::move(output_),
                        .errors = std::move(errors_),
                        .spill = std::move(spill_),
                        .record = record(),
                        .stop_at = result_.status == CommandStatus::kRunning
                                       ? std::optional(started_ + request_.timeout)
                                       : std::nullopt});
}

// Decides what becomes of processes that outlived the command's own.
void CommandRun::settle_background() {
  if (all_ended_ || keeper_gone_) {
    return;
  }
  if (result_.status == CommandStatus::kTimedOut || result_.status == CommandStatus::kCancelled) {
    result_.stuck = std::max<std::int64_t>(live_, 1);
    return;
  }
  if (result_.status == CommandStatus::kRunning) {
    hand_over();
    return;
  }
  keeper_->count();
  const auto end = steady_clock::now() + kCountTime;
  live_ = -1;
  while (live_ < 0 && !keeper_gone_ && wait_readable(keeper_->fd(), end)) {
    read_reports();
  }
  result_.background_left = std::max<std::int64_t>(live_, 0);
  if (result_.background_left > 0 && !context_.cancelled()) {
    hand_over();
  }
}

Outcome<CommandResult> CommandRun::run() {
  if (auto error = start()) {
    return *std::move(error);
  }
  while (phase_ != Phase::kOver) {
    wait();
    advance();
  }
  if (spawn_error_ != 0) {
    return spawn_failed(request_.argv.front(), spawn_error_);
  }
  if (result_.status == CommandStatus::kExited && result_.signal != 0) {
    result_.status = CommandStatus::kKilled;
  }
  if (result_.status != CommandStatus::kExited && result_.status != CommandStatus::kKilled) {
    result_.exit_code = -1;
    result_.duration = std::chrono::duration_cast<milliseconds>(steady_clock::now() - started_);
  }
  result_.output_path = spill_.path();
  result_.output_dropped = spill_.dropped();
  settle_background();
  if (result_.process_id.empty() && spill_.is_open()) {
    result_.process_id = id_;
    JobRecord ended = record();
    ended.status =
        result_.status == CommandStatus::kExited ? JobStatus::kExited : JobStatus::kKilled;
    ended.ended_ms = now_ms();
    spill_.save(std::move(ended));
  }
  return std::move(result_);
}

}  // namespace

Outcome<CommandResult> run_command(Box& box, CallContext& context, const CommandRequest& request) {
  return CommandRun(box, context, request).run();
}

}  // namespace agentbox::mcp
