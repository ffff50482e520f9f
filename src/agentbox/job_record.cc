// pure: see job_record.h.
#include "agentbox/job_record.h"

#include <algorithm>
#include <array>

#include "agentbox/capture.h"
#include "agentbox/job_id.h"
#include "agentbox/record_fields.h"
#include "base/json.h"

namespace agentbox::mcp {
namespace {

constexpr std::array kStatuses{JobStatus::kRunning, JobStatus::kExited, JobStatus::kKilled,
                               JobStatus::kLost};

// One declaration of the fields serves both directions.
template <typename A, typename Record>
void fields(A& a, Record& r) {
  a("id", r.id);
  a("name", r.name);
  a("kind", r.kind);
  a("command", r.command);
  a("folder", r.folder);
  a("pid", r.pid);
  a("keeper_pid", r.keeper_pid);
  a("keeper_start", r.keeper_start);
  a("started_ms", r.started_ms);
  a("ended_ms", r.ended_ms);
  a("status", r.status);
  a("exit_code", r.exit_code);
  a("signal", r.signal);
  a("leader_ended", r.leader_ended);
  a("terminal", r.terminal);
  a("ended_by", r.ended_by);
  a("key", r.key);
  a("session", r.session);
  a("log_lost", r.log_lost);
  a("cpu_us", r.cpu_us);
  a("max_rss_bytes", r.max_rss_bytes);
  a("restarts", r.restarts);
}

struct JobFieldWriter : FieldWriter {
  using FieldWriter::operator();
  void operator()(const char* name, const JobStatus& value) { json[name] = job_status_name(value); }
  void operator()(const char* name, const JobKind& value) { json[name] = job_kind_name(value); }
};

struct JobFieldReader : FieldReader {
  using FieldReader::operator();
  void operator()(const char* name, JobStatus& value) {
    find(name, value, kStatuses, job_status_name);
  }
  void operator()(const char* name, JobKind& value) { find(name, value, kJobKinds, job_kind_name); }

 private:
  template <typename Value, std::size_t kCount>
  void find(const char* name, Value& value, const std::array<Value, kCount>& all,
            std::string_view (*name_of)(Value)) {
    std::string text;
    (*this)(name, text);
    const auto* const at =
        std::find_if(all.begin(), all.end(), [&](Value one) { return name_of(one) == text; });
    good = good && at != all.end();
    value = good ? *at : value;
  }
};

}  // namespace

std::string_view job_kind_name(JobKind kind) {
  switch (kind) {
    case JobKind::kJob:
      return "job";
    case JobKind::kCommand:
      return "command";
    case JobKind::kContext:
      return "context";
    case JobKind::kTask:
      return "task";
    case JobKind::kWatch:
      return "watch";
  }
  return "";
}

std::string_view job_status_name(JobStatus status) {
  switch (status) {
    case JobStatus::kRunning:
      return "running";
    case JobStatus::kExited:
      return "exited";
    case JobStatus::kKilled:
      return "killed";
    case JobStatus::kLost:
      return "lost";
  }
  return "";
}

std::string encode_job_record(const JobRecord& record) {
  JobFieldWriter writer;
  fields(writer, record);
  return dump_json(writer.json) + "\n";
}

Result<JobRecord> decode_job_record(std::string_view text) {
  if (text.size() > kMaxJobRecordBytes) {
    return Error{Code::kLimit, "a process's record is too long"};
  }
  AB_TRY(json, parse_json(text, {.depth = 2, .values = 64, .keys = 64}));
  JobRecord record;
  JobFieldReader reader{{json}};
  fields(reader, record);
  if (!reader.good || !is_job_id(record.id) ||
      !(is_hosted(record.kind) ? is_hosted_name(record.name) : is_job_name(record.name)) ||
      record.command.size() > kMaxJobCommandBytes + 3) {
    return Error{Code::kInvalid, "not a process's record"};
  }
  return record;
}

std::string cut_command(std::string_view command) {
  if (command.size() <= kMaxJobCommandBytes) {
    return std::string(command);
  }
  command = command.substr(0, kMaxJobCommandBytes);
  command.remove_suffix(incomplete_suffix(command));
  return std::string(command) + "...";
}

}  // namespace agentbox::mcp
