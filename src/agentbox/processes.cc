// edge: see processes.h.
#include "agentbox/processes.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <limits>
#include <system_error>
#include <utility>

#include "agentbox/job_id.h"
#include "agentbox/job_input.h"
#include "agentbox/os_error.h"
#include "agentbox/terminal.h"
#include "base/deadline.h"

namespace agentbox::mcp {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// A keeper answers at once unless agent code stopped it.
constexpr seconds kAnswerTime{5};
// A keeper that was killed has gone, and its job with it, after this.
constexpr seconds kDoomTime{3};
// A keeper that cannot be reached is about to be gone: its record tells soon.
constexpr milliseconds kUnreachablePause{20};
// Names that an error lists.
constexpr std::size_t kNamesShown = 10;
constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

ToolError cancelled() { return {.code = "CANCELLED", .message = "the call was cancelled"}; }

ToolError no_answer() {
  return {.code = "INTERNAL",
          .message = "the keeper of the process does not answer",
          .hint = "process_kill ends the process all the same"};
}

ToolError has_ended(const JobRecord& record) {
  return {.code = "PROCESS_EXITED",
          .message = "process " + record.name + " has ended",
          .hint = "process_output shows what it printed and its exit code"};
}

ToolError input_closed(const JobRecord& record) {
  return {.code = "STDIN_CLOSED",
          .message = "the input of process " + record.name + " is closed",
          .hint = "Start it with process_start and stdin \"pipe\" or tty to send it input"};
}

ToolError would_block(const JobRecord& record, std::uint64_t written, std::string_view why) {
  OrderedJson details;
  details["bytes_written"] = written;
  return {.code = "WOULD_BLOCK",
          .message = "process " + record.name + " " + std::string(why) + "; " +
                     std::to_string(written) + " bytes were written",
          .hint = "Send the rest later",
          .details = std::move(details)};
}

ToolError not_a_terminal(const JobRecord& record) {
  return {.code = "NOT_A_TTY",
          .message = "process " + record.name + " has no terminal",
          .hint = "Start it with tty"};
}

ToolError start_failed(const JobPlan& plan, int number) {
  if (number == EPROTO) {
    return {.code = "INVALID_ARGUMENT",
            .message = "the command and its environment are too long together",
            .hint = "Write a script with write_file and run that"};
  }
  return spawn_failed(plan.argv.front(), number);
}

ToolError refused(const Error& error, const std::string& name) {
  if (error.code == Code::kExists) {
    return {.code = "EEXIST",
            .message = "a process named " + name + " runs already (" + error.what + ")",
            .hint = "Choose another name, or stop that one with process_kill",
            .details = {{"process_id", error.what}}};
  }
  if (error.code == Code::kLimit) {
    return {.code = "TOO_MANY_PROCESSES",
            .message = error.what,
            .hint = "process_list shows them, process_kill ends them"};
  }
  return {.code = "SPAWN_FAILED", .message = error.what, .hint = "Try again in a moment"};
}

Result<UniqueFd> memory_file(const std::string& data) {
  UniqueFd file(::memfd_create("job", MFD_CLOEXEC));
  if (!file.valid()) {
    return errno_error("memfd");
  }
  AB_CHECK(write_all(file.get(), data));
  if (::lseek(file.get(), 0, SEEK_SET) != 0) {
    return errno_error("memfd");
  }
  return file;
}

}  // namespace

JobNews ProcessWatch::wait(std::uint64_t log_end, TimePoint deadline, int cancel) {
  if (line_) {
    line_->send(record::JobAsked{.at_once = false, .log_end = log_end});
    record::Record message;
    const JobNews news = line_->receive(message, deadline, cancel);
    const auto* state = std::get_if<record::JobState>(&message);
    const bool over = news == JobNews::kRecord && state != nullptr && state->over;
    return over ? JobNews::kOver : news;
  }
  std::array<pollfd, 2> ready{pollfd{.fd = pipe_.get(), .events = POLLIN, .revents = 0},
                              pollfd{.fd = cancel, .events = POLLIN, .revents = 0}};
  const bool reachable = pipe_.valid();
  const auto now = steady_clock::now();
  const auto until = reachable ? deadline : std::min(deadline, now + kUnreachablePause);
  (void)::poll(ready.data(), ready.size(), poll_timeout(until, now));
  if (ready[1].revents != 0) {
    return JobNews::kCancelled;
  }
  if (ready[0].revents == 0) {
    return steady_clock::now() >= deadline ? JobNews::kTimeout : JobNews::kRecord;
  }
  std::array<char, 256> told{};
  return ::recv(pipe_.get(), told.data(), told.size(), MSG_DONTWAIT) > 0 ? JobNews::kRecord
                                                                         : JobNews::kOver;
}

bool Processes::is_ours(const JobRecord& record) const {
  return !record.of_box() && box_.commands->find(record.id).has_value();
}

std::string Processes::log_path(const JobRecord& record) const {
  return job_log_path(box_.settings.out, record.id);
}

std::vector<JobRecord> Processes::list() const {
  std::vector<JobRecord> records = folder_.list();
  std::erase_if(records, [](const JobRecord& record) { return record.kind != JobKind::kJob; });
  for (JobRecord& record : box_.commands->list()) {
    records.push_back(std::move(record));
  }
  std::stable_sort(records.begin(), records.end(), [](const JobRecord& a, const JobRecord& b) {
    return a.started_ms > b.started_ms;
  });
  return records;
}

Outcome<JobRecord> Processes::find(std::string_view name) const {
  if (is_job_id(name)) {
    if (auto command = box_.commands->find(std::string(name))) {
      return *std::move(command);
    }
    if (auto record = folder_.find(std::string(name)); record && !is_hosted(record->kind)) {
      return *std::move(record);
    }
  }
  std::string live;
  std::size_t shown = 0;
  std::optional<JobRecord> found;
  for (JobRecord& record : list()) {
    const bool runs = record.status == JobStatus::kRunning;
    if (record.name == name && (!found || (runs && found->status != JobStatus::kRunning))) {
      found = record;
    }
    if (runs && ++shown <= kNamesShown) {
      live += (live.empty() ? "" : ", ") + record.name;
    }
  }
  if (found) {
    return *std::move(found);
  }
  return ToolError{.code = "UNKNOWN_PROCESS",
                   .message = "no process named " + quote_name(name),
                   .hint = live.empty() ? std::string("Nothing runs; process_list shows what ended")
                                        : "These run: " + live};
}

JobRecord Processes::refresh(const JobRecord& record) const {
  if (auto command = box_.commands->find(record.id)) {
    return *std::move(command);
  }
  if (auto found = folder_.find(record.id)) {
    return *std::move(found);
  }
  JobRecord lost = record;  // somebody removed its folder
  lost.status = JobStatus::kLost;
  return lost;
}

Outcome<JobRecord> Processes::start(const JobPlan& plan, const std::string& name, int folder,
                                    CallContext& context, int line) const {
  if (!folder_.is_there()) {
    return ToolError{.code = "SPAWN_FAILED",
                     .message = "there is no folder for the output of jobs",
                     .hint = "Start agent-box with AGENTBOX_OUT, or use shell_exec"};
  }
  const std::string bytes = encode_plan(plan);
  const auto file = memory_file(bytes);
  if (!file.ok() || bytes.size() > kMaxPlanBytes) {
    return start_failed(plan, file.ok() ? EPROTO : ENOMEM);
  }
  auto given = box_.jobs->start(name);
  if (!given.ok()) {
    return refused(given.error(), name);
  }
  if (line < 0) {
    given->line.send(record::JobLaunch{}, {folder, file->get()});
  } else {
    given->line.send(record::JobLaunch{}, {folder, file->get(), line});
  }
  record::JobDone done;
  const JobNews news =
      given->line.receive_done(done, steady_clock::now() + kAnswerTime, context.cancel_fd());
  if (news == JobNews::kRecord && done.error != 0) {
    return start_failed(plan, done.error);
  }
  auto record = folder_.find(given->id);
  if (news == JobNews::kCancelled || news == JobNews::kTimeout || !record) {
    box_.jobs->doom(given->id);  // nobody would know of it
    return news == JobNews::kCancelled ? cancelled() : no_answer();
  }
  return *std::move(record);
}

ProcessWatch Processes::watch(const JobRecord& record) const {
  ProcessWatch watch;
  if (record.of_box()) {
    if (auto given = box_.jobs->connect(record.id); given.ok()) {
      watch.line_.emplace(std::move(given->line));
    }
  } else {
    watch.pipe_ = box_.commands->watch(record.id);
  }
  return watch;
}

Outcome<JobLine> Processes::connect(const JobRecord& record) const {
  if (!record.of_box()) {
    return ToolError{.code = "UNKNOWN_PROCESS",
                     .message = "process " + record.name + " belongs to another session",
                     .hint =
                         "What shell_exec leaves running is its own session's; start what "
                         "others need with process_start"};
  }
  auto given = box_.jobs->connect(record.id);
  if (given.ok()) {
    return std::move(given->line);
  }
  return given.error().code == Code::kNotFound ? has_ended(record) : no_answer();
}

Outcome<record::JobDone> Processes::request(const JobRecord& record, const record::Record& message,
                                            CallContext& context) const {
  AB_TRY(line, connect(record));
  line.send(message);
  record::JobDone done;
  switch (line.receive_done(done, steady_clock::now() + kAnswerTime, context.cancel_fd())) {
    case JobNews::kRecord:
      return done;
    case JobNews::kOver:
      return has_ended(record);
    case JobNews::kTimeout:
      return no_answer();
    case JobNews::kCancelled:
      break;
  }
  return cancelled();
}

bool Processes::wait_over(const JobRecord& record, milliseconds time, CallContext& context) const {
  const auto deadline = steady_clock::now() + time;
  for (;;) {
    if (refresh(record).status != JobStatus::kRunning) {
      return true;
    }
    ProcessWatch one = watch(record);
    const JobNews news = one.wait(kNever, deadline, context.cancel_fd());
    if (news == JobNews::kTimeout || news == JobNews::kCancelled) {
      return refresh(record).status != JobStatus::kRunning;
    }
  }
}

// A host forgets a job when it has reaped the keeper, and kills what that guarded before it answers
// the next question.
bool Processes::wait_forgotten(const JobRecord& record, CallContext& context) const {
  const auto deadline = steady_clock::now() + kDoomTime;
  while (steady_clock::now() < deadline && !context.cancelled()) {
    const auto given = box_.jobs->connect(record.id);
    if (!given.ok() && given.error().code == Code::kNotFound) {
      return true;
    }
    record::Record ignored;
    const auto pause = steady_clock::now() + kUnreachablePause;
    if (given.ok() && given->line.receive(ignored, pause, context.cancel_fd()) == JobNews::kOver) {
      continue;
    }
    (void)wait_readable(context.cancel_fd(), pause);
  }
  return false;
}

Outcome<Stopped> Processes::stop(const JobRecord& record, milliseconds grace,
                                 CallContext& context) const {
  Stopped stopped;
  if (record.status != JobStatus::kRunning) {
    return Stopped{.record = record, .signalled = 0, .over = true};
  }
  if (is_ours(record)) {
    (void)box_.commands->stop(record.id, grace, "process_kill");
  } else {
    const record::JobStop wanted{.grace_ms = static_cast<std::uint32_t>(grace.count()),
                                 .why = "process_kill"};
    const auto done = request(record, wanted, context);
    if (!done.ok() && (done.error().code == "CANCELLED" || !record.of_box())) {
      return done.error();
    }
    stopped.signalled = done.ok() ? (*done).count : 0;
  }
  stopped.over = wait_over(record, grace + kKeeperSlack, context);
  if (!stopped.over && record.of_box() && !context.cancelled()) {
    box_.jobs->doom(record.id);  // its keeper was stopped, and does not do its work
    stopped.over = wait_forgotten(record, context);
  }
  stopped.record = refresh(record);
  return stopped;
}

Outcome<Stopped> Processes::signal(const JobRecord& record, int number, bool tree,
                                   CallContext& context) const {
  Stopped stopped;
  if (record.status != JobStatus::kRunning) {
    return Stopped{.record = record, .signalled = 0, .over = true};
  }
  if (is_ours(record)) {
    (void)box_.commands->signal(record.id, number, tree);
  } else {
    AB_TRY(done, request(record, record::JobSignal{.number = number, .tree = tree}, context));
    stopped.signalled = done.count;
  }
  stopped.record = refresh(record);
  stopped.over = stopped.record.status != JobStatus::kRunning;
  return stopped;
}

Outcome<std::uint64_t> Processes::write(const JobRecord& record, const std::string& data,
                                        bool close, CallContext& context) const {
  if (record.status != JobStatus::kRunning) {
    return has_ended(record);
  }
  if (is_ours(record)) {
    return type(record, data, close, context);
  }
  AB_TRY(line, connect(record));
  const auto file = memory_file(data);
  if (!file.ok()) {
    return os_error("hold", "the input", file.error().os_errno);
  }
  const record::JobInput input{.bytes = data.size(), .close = close};
  if (data.empty()) {
    line.send(input);
  } else {
    line.send(input, {file->get()});
  }
  record::JobDone done;
  JobNews news = line.receive_done(done, steady_clock::now() + kInputTime, context.cancel_fd());
  if (news == JobNews::kTimeout || news == JobNews::kCancelled) {
    line.send(record::JobInputOver{});
    news = line.receive_done(done, steady_clock::now() + kAnswerTime, -1);
  }
  if (news == JobNews::kOver) {
    return has_ended(record);
  }
  if (news != JobNews::kRecord) {
    return no_answer();
  }
  switch (done.error) {
    case 0:
      return done.count;
    case EPIPE:
    case EBADF:
      return input_closed(record);
    case EBUSY:
      return would_block(record, 0, "is being written to by another call");
    default:
      return would_block(record, done.count, "takes no more input now");
  }
}

// Into the terminal of a command of this session.
Outcome<std::uint64_t> Processes::type(const JobRecord& record, const std::string& data, bool close,
                                       CallContext& context) const {
  const UniqueFd terminal = box_.commands->terminal(record.id);
  if (!terminal.valid()) {
    return input_closed(record);
  }
  auto file = memory_file(data);
  if (!file.ok()) {
    return os_error("hold", "the input", file.error().os_errno);
  }
  JobInput input(std::move(*file), data.size(), close);
  const auto deadline = steady_clock::now() + kInputTime;
  for (;;) {
    if (const auto result = input.write_to(terminal.get())) {
      return *result == 0 ? Outcome<std::uint64_t>(input.written()) : has_ended(record);
    }
    std::array<pollfd, 2> ready{pollfd{.fd = terminal.get(), .events = POLLOUT, .revents = 0},
                                pollfd{.fd = context.cancel_fd(), .events = POLLIN, .revents = 0}};
    const auto now = steady_clock::now();
    (void)::poll(ready.data(), ready.size(), poll_timeout(deadline, now));
    if (ready[1].revents != 0 || now >= deadline) {
      return would_block(record, input.written(), "takes no more input now");
    }
  }
}

Outcome<bool> Processes::resize(const JobRecord& record, std::uint32_t columns, std::uint32_t rows,
                                CallContext& context) const {
  if (!record.terminal) {
    return not_a_terminal(record);
  }
  if (record.status != JobStatus::kRunning) {
    return has_ended(record);
  }
  if (is_ours(record)) {
    const UniqueFd terminal = box_.commands->terminal(record.id);
    if (!terminal.valid() || !resize_terminal(terminal.get(), columns, rows).ok()) {
      return has_ended(record);
    }
    return true;
  }
  AB_TRY(done, request(record, record::JobResize{.columns = columns, .rows = rows}, context));
  if (done.error != 0) {
    return done.error == ENOTTY ? not_a_terminal(record) : has_ended(record);
  }
  return true;
}

}  // namespace agentbox::mcp
