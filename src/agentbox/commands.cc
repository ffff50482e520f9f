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
#include "agentbox/keeper.h"
#include "agentbox/os_error.h"
#include "agentbox/spill.h"
#include "agentbox/survivors.h"

namespace agentbox::mcp {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using TimePoint = steady_clock::time_point;

// What a pipe holds.
constexpr std::size_t kReadBytes = 64 * 1024;
// A keeper answers at once unless agent code stopped it.
constexpr milliseconds kCountTime{1000};

ToolError spawn_failed(std::string_view program, int number) {
  std::string hint;
  if (number == ENOENT || number == EACCES) {
    hint = "Check that the program is installed and executable, or use shell \"sh\"";
  } else if (number == E2BIG) {
    hint =
        "Command and environment are too long together: write a script with write_file and run it";
  } else if (number == EAGAIN || number == ENOMEM) {
    hint = "The box has too many processes or too little memory: end some and try again";
  }
  return {.code = "SPAWN_FAILED",
          .message = std::string(program) +
                     " could not be started: " + std::generic_category().message(number),
          .hint = std::move(hint)};
}

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
        spill_(box.workspace->output_folder(), box.settings.out) {
    result_.output = HeadTail(request.inline_bytes);
    result_.errors = HeadTail(request.inline_bytes);
  }

  Outcome<CommandResult> run();

 private:
  enum class Phase { kRunning, kDraining, kStopping, kOver };

  [[nodiscard]] std::optional<ToolError> start();
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
  CommandResult result_;
  Spill spill_;
  std::optional<Keeper> keeper_;
  UniqueFd output_;
  UniqueFd errors_;
  std::string buffer_ = std::string(kReadBytes, '\0');
  Phase phase_ = Phase::kRunning;
  TimePoint started_{};
  TimePoint deadline_{};  // of the phase
  bool keeper_gone_ = false;
  bool all_ended_ = false;
  int spawn_error_ = 0;
  std::int64_t live_ = 0;
};

std::optional<ToolError> CommandRun::start() {
  auto input = input_file(request_.input);
  if (!input.ok()) {
    return std::move(input).error();
  }
  auto output = make_pipe();
  auto errors = make_pipe();
  if (!output.ok() || !errors.ok()) {
    return os_error("make a pipe for", "the command", EMFILE);
  }
  auto keeper = box_.keepers.start(
      {.programs = request_.programs,
       .argv = request_.argv,
       .environment = request_.environment,
       .folder = request_.folder,
       .input = input->get(),
       .output = output->second.get(),
       .errors = request_.merge_errors ? output->second.get() : errors->second.get()});
  if (!keeper.ok()) {
    if (keeper.error().code == Code::kLimit) {
      return ToolError{
          .code = "TOO_MANY_PROCESSES",
          .message = keeper.error().what,
          .hint = "End background processes (shell_exec with kill) or open a new session"};
    }
    return spawn_failed(request_.argv.front(), keeper.error().os_errno);
  }
  keeper_.emplace(std::move(*keeper));
  output_ = std::move(output->first);
  if (!request_.merge_errors) {
    errors_ = std::move(errors->first);
  }
  (void)set_nonblocking(output_.get(), true);
  (void)set_nonblocking(errors_.get(), true);
  started_ = steady_clock::now();
  deadline_ = started_ + request_.timeout;
  return std::nullopt;
}

void CommandRun::wait() {
  const auto left = std::chrono::ceil<milliseconds>(deadline_ - steady_clock::now()).count();
  std::array<pollfd, 4> ready{{
      {.fd = keeper_gone_ ? -1 : keeper_->fd(), .events = POLLIN, .revents = 0},
      {.fd = output_.get(), .events = POLLIN, .revents = 0},
      {.fd = errors_.get(), .events = POLLIN, .revents = 0},
      {.fd = phase_ == Phase::kStopping ? -1 : context_.cancel_fd(),
       .events = POLLIN,
       .revents = 0},
  }};
  (void)::poll(ready.data(), ready.size(), static_cast<int>(std::max<long>(left, 0)));
  if (ready[1].revents != 0) {
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

// Decides what becomes of processes that outlived the command's own.
void CommandRun::settle_background() {
  if (all_ended_ || keeper_gone_) {
    return;
  }
  if (result_.status == CommandStatus::kTimedOut || result_.status == CommandStatus::kCancelled) {
    result_.stuck = std::max<std::int64_t>(live_, 1);
    return;
  }
  keeper_->count();
  const auto end = steady_clock::now() + kCountTime;
  live_ = -1;
  while (live_ < 0 && !keeper_gone_ && wait_readable(keeper_->fd(), end)) {
    read_reports();
  }
  result_.background_left = std::max<std::int64_t>(live_, 0);
  if (result_.background_left == 0 || context_.cancelled()) {
    return;
  }
  spill_.open();  // what survivors print from now on can be read there
  result_.output_path = spill_.path();
  result_.output_dropped = spill_.dropped();
  box_.survivors->adopt({.keeper = std::move(*keeper_),
                         .output = std::move(output_),
                         .errors = std::move(errors_),
                         .spill = std::move(spill_)});
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
  if (result_.status == CommandStatus::kTimedOut || result_.status == CommandStatus::kCancelled) {
    result_.exit_code = -1;
    result_.duration = std::chrono::duration_cast<milliseconds>(steady_clock::now() - started_);
  }
  result_.output_path = spill_.path();
  result_.output_dropped = spill_.dropped();
  settle_background();
  return std::move(result_);
}

}  // namespace

Outcome<CommandResult> run_command(Box& box, CallContext& context, const CommandRequest& request) {
  return CommandRun(box, context, request).run();
}

}  // namespace agentbox::mcp
