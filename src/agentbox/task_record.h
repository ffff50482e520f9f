// pure: what is kept of a task, in files of its job's folder: what it is, how it ended, its result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace agentbox::mcp {

/// How long a task is kept from its creation on, unless its creator says otherwise; a task that
/// still runs then is ended.
inline constexpr std::int64_t kTaskTtlMs = 2LL * 3600 * 1000;
/// What a creator may ask for.
inline constexpr std::int64_t kMinTaskTtlMs = 1000;
inline constexpr std::int64_t kMaxTaskTtlMs = 24LL * 3600 * 1000;
/// The result of a call.
inline constexpr std::size_t kMaxTaskResultBytes = 8UL << 20;
/// What is said of how it ended: small, so that many tasks are listed without reading their
/// results.
inline constexpr std::size_t kMaxTaskEndBytes = 1024;

struct TaskRecord {
  std::string tool;
  std::int64_t created_ms = 0;  ///< since 1970
  std::int64_t ttl_ms = kTaskTtlMs;
};

/// How a task came to its end. Whatever is written first stands.
struct TaskEnd {
  bool cancelled = false;
  std::int64_t ended_ms = 0;
  bool is_error = false;  ///< of the result, which is there unless it was cancelled
};

[[nodiscard]] std::string encode_task_record(const TaskRecord& record);
[[nodiscard]] std::string encode_task_end(std::int64_t ended_ms, bool is_error);
[[nodiscard]] std::string encode_task_cancelled(std::int64_t ended_ms);

/// Whatever agent code wrote there: every field in its bounds, or an Error.
[[nodiscard]] Result<TaskRecord> decode_task_record(std::string_view text);
[[nodiscard]] Result<TaskEnd> decode_task_end(std::string_view text);
/// The result of tools/call, without what each revision adds.
[[nodiscard]] Result<Json> decode_task_result(std::string_view text);

}  // namespace agentbox::mcp
