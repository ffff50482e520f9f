// edge: see tasks.h.
#include "agentbox/tasks.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "agentbox/hosted.h"
#include "agentbox/job_id.h"
#include "agentbox/private_folder.h"
#include "base/random.h"

namespace agentbox::mcp {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr const char* kRecordName = "task.json";
constexpr const char* kEndName = "end.json";
constexpr const char* kResultName = "result.json";
// From the start of its program to its word that the task is kept.
constexpr seconds kAcceptTime{10};
// Of a task that works, the record of its job fits and is read with it.
constexpr std::size_t kMaxRecordBytes = 1024;

ToolError not_started(std::string why) {
  return {.code = "SPAWN_FAILED",
          .message = "the task could not be started: " + std::move(why),
          .hint = "Try again in a moment, or call the tool without a task"};
}

bool is_over(const Task& task, std::int64_t now) {
  return now > task.record.created_ms + task.record.ttl_ms;
}

}  // namespace

Result<bool> keep_task_end(int folder, std::string_view text) {
  const std::string fresh = std::string(kEndName) + "." + std::to_string(::getpid());
  AB_TRY(file, open_private_file(folder, fresh, O_CREAT | O_TRUNC | O_WRONLY));
  Status kept = write_all(file.get(), text);
  bool is_first = true;
  if (kept.ok() && ::fsync(file.get()) != 0) {
    kept = errno_error("keep the end of the task");
  }
  // A link takes no name that is there: of two ends one stands.
  if (kept.ok() && ::linkat(folder, fresh.c_str(), folder, kEndName, 0) != 0) {
    is_first = errno != EEXIST;
    kept = is_first ? Status(errno_error("place the end of the task")) : Status();
  }
  (void)::unlinkat(folder, fresh.c_str(), 0);
  (void)::fsync(folder);
  AB_CHECK(kept);
  return is_first;
}

Status keep_task_result(int folder, std::string_view result_json) {
  return put_private_file(folder, kResultName, result_json);
}

Status keep_task_record(int folder, const TaskRecord& record) {
  return put_private_file(folder, kRecordName, encode_task_record(record));
}

Outcome<Task> Tasks::create(std::string_view tool, const Json& arguments, std::int64_t ttl_ms,
                            CallContext& context) const {
  std::size_t working = 0;
  for (const Task& task : list()) {
    working += task.status == TaskStatus::kWorking ? 1 : 0;
  }
  if (working >= kMaxTasks) {
    return ToolError{.code = "RATE_LIMITED",
                     .message = std::to_string(kMaxTasks) + " tasks are working",
                     .hint = "Wait for some to end, or cancel them"};
  }
  const TaskRecord record{.tool = std::string(tool), .created_ms = now_ms(), .ttl_ms = ttl_ms};
  AB_TRY(job, start_hosted(box_,
                           {.kind = JobKind::kTask,
                            .name = ".task-" + random_hex(kJobIdBytes),
                            .words = {"task-host"},
                            .lifetime_seconds = static_cast<std::uint32_t>(ttl_ms / 1000),
                            .starts_jobs = true},
                           context));
  const auto deadline = steady_clock::now() + kAcceptTime;
  auto line = dial_hosted(box_, job.id, deadline, context.cancel_fd());
  Status said = line.ok() ? line->send({{"tool", record.tool},
                                        {"created_ms", record.created_ms},
                                        {"ttl_ms", record.ttl_ms},
                                        {"arguments", arguments}},
                                       deadline, context.cancel_fd())
                          : Status(line.error());
  auto answer = said.ok() ? line->receive(deadline, context.cancel_fd())
                          : Result<Json>(std::move(said).error());
  const Json* accepted = answer.ok() ? find_member(*answer, "accepted") : nullptr;
  auto task = find(job.id);
  if (accepted == nullptr || *accepted != true || !task) {
    box_.jobs->doom(job.id);
    const std::string* why = answer.ok() ? find_string(*answer, "error") : nullptr;
    return not_started(!answer.ok()     ? answer.error().what
                       : why != nullptr ? *why
                                        : std::string("its program said something else"));
  }
  return *std::move(task);
}

std::optional<Task> Tasks::read(JobRecord job) const {
  if (job.kind != JobKind::kTask) {
    return std::nullopt;
  }
  const auto folder = processes_.folder().open(job.id);
  auto text = folder.ok() ? read_private_file(folder->get(), kRecordName, kMaxRecordBytes)
                          : Result<std::string>(folder.error());
  auto record = text.ok() ? decode_task_record(*text) : Result<TaskRecord>(text.error());
  if (!record.ok()) {
    return std::nullopt;
  }
  Task task{.id = job.id, .record = std::move(*record), .job = std::move(job)};
  task.updated_ms = task.record.created_ms;
  // Its end is looked for last: a call that ends meanwhile is found.
  const bool runs = task.job.status == JobStatus::kRunning;
  if (const auto end = end_of(task)) {
    task.updated_ms = end->ended_ms;
    task.is_error = end->is_error;
    task.status = end->cancelled ? TaskStatus::kCancelled : TaskStatus::kCompleted;
  } else if (!runs) {
    task.updated_ms = std::max(task.job.ended_ms, task.updated_ms);
    task.status = TaskStatus::kFailed;
    task.message = task.job.ended_by.empty() ? std::string("its process ended before the call did")
                                             : "it was ended by " + task.job.ended_by;
  }
  return task;
}

std::optional<Task> Tasks::find(const std::string& id) const {
  auto job = processes_.folder().find(id);
  auto task = job ? read(*std::move(job)) : std::nullopt;
  return task && !is_over(*task, now_ms()) ? std::move(task) : std::nullopt;
}

std::vector<Task> Tasks::list() const {
  std::vector<Task> tasks;
  const std::int64_t now = now_ms();
  for (JobRecord& job : processes_.folder().list()) {
    auto task = read(std::move(job));
    if (task && is_over(*task, now) && task->job.status != JobStatus::kRunning) {
      remove(*task);
    } else if (task && !is_over(*task, now)) {
      tasks.push_back(*std::move(task));
    }
  }
  return tasks;
}

std::optional<TaskEnd> Tasks::end_of(const Task& task) const {
  const auto folder = processes_.folder().open(task.id);
  auto text = folder.ok() ? read_private_file(folder->get(), kEndName, kMaxTaskEndBytes)
                          : Result<std::string>(folder.error());
  auto end = text.ok() ? decode_task_end(*text) : Result<TaskEnd>(text.error());
  return end.ok() ? std::optional(std::move(*end)) : std::nullopt;
}

std::optional<Json> Tasks::result_of(const Task& task) const {
  const auto folder = processes_.folder().open(task.id);
  auto text = folder.ok() ? read_private_file(folder->get(), kResultName, kMaxTaskResultBytes)
                          : Result<std::string>(folder.error());
  auto result = text.ok() ? decode_task_result(*text) : Result<Json>(text.error());
  return result.ok() ? std::optional(std::move(*result)) : std::nullopt;
}

bool Tasks::wait(const Task& task, milliseconds time, CallContext& context) const {
  return processes_.wait_over(task.job, time, context);
}

bool Tasks::cancel(const Task& task, CallContext& context) const {
  const auto folder = processes_.folder().open(task.id);
  const auto kept = folder.ok() ? keep_task_end(folder->get(), encode_task_cancelled(now_ms()))
                                : Result<bool>(folder.error());
  if (kept.ok() && !*kept) {
    return false;
  }
  (void)processes_.stop(task.job, kStopGrace, context);
  return true;
}

}  // namespace agentbox::mcp
