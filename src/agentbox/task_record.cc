// pure: see task_record.h.
#include "agentbox/task_record.h"

#include <utility>

#include "agentbox/record_fields.h"

namespace agentbox::mcp {
namespace {

// A name of a tool, and two numbers.
constexpr std::size_t kMaxRecordBytes = 1024;

// One declaration of the fields serves both directions.
template <typename A, typename Record>
void fields(A& a, Record& record) {
  a("tool", record.tool);
  a("created_ms", record.created_ms);
  a("ttl_ms", record.ttl_ms);
}

}  // namespace

std::string encode_task_record(const TaskRecord& record) {
  FieldWriter writer;
  fields(writer, record);
  return dump_json(writer.json) + "\n";
}

std::string encode_task_end(std::int64_t ended_ms, bool is_error) {
  return R"({"cancelled":false,"ended_ms":)" + std::to_string(ended_ms) + R"(,"is_error":)" +
         (is_error ? "true" : "false") + "}\n";
}

std::string encode_task_cancelled(std::int64_t ended_ms) {
  return R"({"cancelled":true,"ended_ms":)" + std::to_string(ended_ms) + "}\n";
}

Result<TaskRecord> decode_task_record(std::string_view text) {
  if (text.size() > kMaxRecordBytes) {
    return Error{Code::kLimit, "a task's record is too long"};
  }
  AB_TRY(json, parse_json(text, {.depth = 2, .values = 8, .keys = 8}));
  TaskRecord record;
  FieldReader reader{json};
  fields(reader, record);
  if (!reader.good || record.tool.empty() || record.created_ms < 0 ||
      record.ttl_ms < kMinTaskTtlMs || record.ttl_ms > kMaxTaskTtlMs) {
    return Error{Code::kInvalid, "not a task's record"};
  }
  return record;
}

Result<TaskEnd> decode_task_end(std::string_view text) {
  if (text.size() > kMaxTaskEndBytes) {
    return Error{Code::kLimit, "a task's end is too long"};
  }
  AB_TRY(json, parse_json(text, {.depth = 2, .values = 8, .keys = 8}));
  TaskEnd end;
  FieldReader reader{json};
  reader("cancelled", end.cancelled);
  reader("ended_ms", end.ended_ms);
  if (!end.cancelled) {
    reader("is_error", end.is_error);
  }
  if (!reader.good || end.ended_ms < 0) {
    return Error{Code::kInvalid, "not a task's end"};
  }
  return end;
}

Result<Json> decode_task_result(std::string_view text) {
  if (text.size() > kMaxTaskResultBytes) {
    return Error{Code::kLimit, "a task's result is too long"};
  }
  AB_TRY(json, parse_json(text));
  const Json* content = find_member(json, "content");
  if (content == nullptr || !content->is_array()) {
    return Error{Code::kInvalid, "not a result of tools/call"};
  }
  return json;
}

}  // namespace agentbox::mcp
