// edge: see process_entry.h.
#include "agentbox/process_entry.h"

#include <sys/types.h>

#include <cstdint>

#include "agentbox/process_output.h"
#include "agentbox/process_stat.h"
#include "agentbox/process_words.h"
#include "agentbox/timestamps.h"

namespace agentbox::mcp {

OrderedJson process_entry(const Box& box, const Processes& processes, const JobRecord& record) {
  const bool runs = record.status == JobStatus::kRunning;
  OrderedJson json;
  json["process_id"] = record.id;
  json["name"] = record.name;
  json["pid"] = record.pid;
  json["command"] = record.command;
  json["status"] = job_status_name(record.status);
  json["exit_code"] = record.exit_code;
  if (record.signal != 0) {
    json["signal"] = signal_name(record.signal);
  }
  json["started_at"] = started_text(record);
  if (record.ended_ms > 0) {
    json["ended_at"] = timestamp_seconds(record.ended_ms / 1000);
  }
  json["log_path"] = processes.log_path(record);
  json["log_bytes"] = log_end(processes, record);
  if (record.log_lost > 0) {
    json["log_lost_bytes"] = record.log_lost;
  }
  // A command of this session shares its guardian with others; its own process stands for it.
  const TreeUsage usage =
      runs ? measure_tree(static_cast<pid_t>(record.of_box() ? record.keeper_pid : record.pid))
           : TreeUsage{};
  json["cpu_ms"] = runs ? usage.cpu_ms : static_cast<std::uint64_t>(record.cpu_us / 1000);
  if (runs) {
    json["rss_bytes"] = usage.rss_bytes;
    json["children"] = usage.live;
  }
  if (runs && record.leader_ended) {
    json["leader_ended"] = true;
  }
  json["tty"] = record.terminal;
  if (record.restarts > 0) {
    json["restarts"] = record.restarts;
  }
  if (!record.ended_by.empty()) {
    json["ended_by"] = record.ended_by;
  }
  json["lifetime"] = record.of_box() && box.settings.jobs_fd ? "box" : "session";
  if (!record.key.empty()) {
    json["started_by"] = record.key;
  }
  return json;
}

}  // namespace agentbox::mcp
