// edge: tasks: calls of tools that go on in a program of their own, whoever asked for them is gone
// or not. They belong to the box, as jobs do.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/outcome.h"
#include "agentbox/processes.h"
#include "agentbox/task_record.h"
#include "base/json.h"

namespace agentbox::mcp {

/// Tasks that run at once: half of what the box can host.
inline constexpr std::size_t kMaxTasks = 32;

enum class TaskStatus { kWorking, kCompleted, kFailed, kCancelled };

struct Task {
  std::string id;
  TaskRecord record;
  JobRecord job;
  TaskStatus status = TaskStatus::kWorking;  ///< failed: its process ended before the call did
  bool is_error = false;                     ///< completed: its result is one
  std::int64_t updated_ms = 0;
  std::string message = {};  ///< why it failed
};

class Tasks {
 public:
  explicit Tasks(Box& box) : box_(box), processes_(box) {}

  /// Starts TOOL with ARGUMENTS (an object that its reader takes). When this returns the task will
  /// be found by every session.
  [[nodiscard]] Outcome<Task> create(std::string_view tool, const Json& arguments,
                                     std::int64_t ttl_ms, CallContext& context) const;
  /// Nothing where there is none, or its time is over.
  [[nodiscard]] std::optional<Task> find(const std::string& id) const;
  /// Newest first. Removes those whose time is over.
  [[nodiscard]] std::vector<Task> list() const;

  /// How TASK ended; nothing while it works, or where its process ended before its call.
  [[nodiscard]] std::optional<TaskEnd> end_of(const Task& task) const;
  /// The result of a task that has ended with one.
  [[nodiscard]] std::optional<Json> result_of(const Task& task) const;
  /// Waits until TASK works no more: true; false where TIME passed or the call was cancelled.
  [[nodiscard]] bool wait(const Task& task, std::chrono::milliseconds time,
                          CallContext& context) const;
  /// False where it had ended before. What it started is ended after this returns.
  [[nodiscard]] bool cancel(const Task& task, CallContext& context) const;
  /// Forgets a task that has ended.
  void remove(const Task& task) const { processes_.folder().remove(task.id); }

 private:
  [[nodiscard]] std::optional<Task> read(JobRecord job) const;

  Box& box_;
  Processes processes_;
};

/// Before its end is kept.
[[nodiscard]] Status keep_task_result(int folder, std::string_view result_json);
/// Writes TEXT as the end of the task whose job's folder FOLDER is. False where one stands already.
[[nodiscard]] Result<bool> keep_task_end(int folder, std::string_view text);
[[nodiscard]] Status keep_task_record(int folder, const TaskRecord& record);

}  // namespace agentbox::mcp
