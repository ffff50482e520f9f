// edge: process_list: what runs in the box, and what ran.
#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/job_folder.h"
#include "agentbox/process_entry.h"
#include "agentbox/process_stat.h"
#include "agentbox/process_words.h"
#include "agentbox/processes.h"
#include "agentbox/tools/tools.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

// Other processes listed, and how much of each one's command line.
constexpr std::size_t kMaxSystem = 1000;
constexpr std::size_t kSystemCommandBytes = 256;

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"processes":{"type":"array","description":"Newest first.","items":{"type":"object","properties":{
"process_id":{"type":"string"},"name":{"type":"string"},"pid":{"type":"integer"},"command":{"type":"string"},
"status":{"type":"string","description":"running as long as any process of it lives; lost: whoever looked after it was killed, and it with that.","enum":["running","exited","killed","lost"]},
"exit_code":{"type":"integer","description":"Of its own process; -1: none, or none yet."},"signal":{"type":"string"},
"started_at":{"type":"string"},"ended_at":{"type":"string"},"log_path":{"type":"string"},"log_bytes":{"type":"integer"},
"log_lost_bytes":{"type":"integer","description":"Output that is in no log: the disk was full."},
"cpu_ms":{"type":"integer"},"rss_bytes":{"type":"integer"},
"children":{"type":"integer","description":"Processes of it that run."},
"leader_ended":{"type":"boolean","description":"Its own process has ended, others of it run on."},
"tty":{"type":"boolean"},"restarts":{"type":"integer"},
"ended_by":{"type":"string","description":"Who had it ended."},
"lifetime":{"type":"string","enum":["box","session"]},
"started_by":{"type":"string","description":"Fingerprint of the key whose session started it."}},
"required":["process_id","name","pid","command","status","exit_code","started_at","log_path"]}},
"system_processes":{"type":"array","description":"With system=true.","items":{"type":"object","properties":{
"pid":{"type":"integer"},"ppid":{"type":"integer"},"command":{"type":"string"},"rss_bytes":{"type":"integer"},
"cpu_ms":{"type":"integer"},"state":{"type":"string"}},"required":["pid","ppid","command"]}}},
"required":["processes"]})";

std::string_view mark(JobStatus status) {
  return status == JobStatus::kRunning ? "🟢" : status == JobStatus::kExited ? "⚪" : "🔴";
}

std::string state_words(const JobRecord& record) {
  switch (record.status) {
    case JobStatus::kRunning:
      return record.leader_ended ? "running, its own process ended with exit code " +
                                       std::to_string(record.exit_code)
                                 : "running";
    case JobStatus::kExited:
      return "exited, exit code " + std::to_string(record.exit_code);
    case JobStatus::kKilled:
      return record.signal == 0 ? "killed" : "killed by " + signal_name(record.signal);
    case JobStatus::kLost:
      break;
  }
  return "lost";
}

std::string words(const Processes& processes, const JobRecord& record) {
  std::string text(mark(record.status));
  text += " " + record.name + "  (pid " + std::to_string(record.pid) + ", " + state_words(record) +
          ")\n   Command:    " + one_line(record.command) +
          "\n   Started at: " + started_text(record) +
          "\n   Log path:   " + processes.log_path(record) + "\n   Process id: " + record.id + "\n";
  if (record.status != JobStatus::kRunning && !record.ended_by.empty()) {
    text += "   Ended by:   " + one_line(record.ended_by) + "\n";
  }
  return text + "\n";
}

OrderedJson system_processes() {
  OrderedJson list = OrderedJson::array();
  const CHandle<DIR, ::closedir> dir(::opendir("/proc"));
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto ticks = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  while (dir != nullptr && list.size() < kMaxSystem) {
    const dirent* one = ::readdir(dir.get());  // NOLINT(concurrency-mt-unsafe): ours alone
    if (one == nullptr) {
      break;
    }
    const auto pid = parse_decimal(one->d_name);
    const auto stat = pid.ok() ? read_process_stat(static_cast<std::int64_t>(*pid)) : std::nullopt;
    if (!stat) {
      continue;
    }
    OrderedJson json;
    json["pid"] = *pid;
    json["ppid"] = stat->parent;
    json["command"] = process_command(static_cast<std::int64_t>(*pid), kSystemCommandBytes);
    json["rss_bytes"] = stat->rss_pages * page;
    json["cpu_ms"] = stat->cpu_ticks * 1000 / ticks;
    json["state"] = std::string(1, stat->state);
    list.push_back(std::move(json));
  }
  return list;
}

ToolResult process_list(const Arguments& arguments, CallContext& context) {
  const Box& box = context.box();
  const Processes processes(context.box());
  const std::string& name = arguments.text("name");
  OrderedJson list = OrderedJson::array();
  std::string text;
  for (const JobRecord& record : processes.list()) {
    const bool wanted = (arguments.flag("all") || record.status == JobStatus::kRunning) &&
                        (name.empty() || record.name == name || record.id == name);
    if (wanted) {
      list.push_back(process_entry(box, processes, record));
      text += words(processes, record);
    }
  }
  text = list.empty() ? std::string("No background processes registered.\n")
                      : "Found " + std::to_string(list.size()) + " process(es):\n\n" + text;
  OrderedJson json;
  json["processes"] = std::move(list);
  if (arguments.flag("system")) {
    OrderedJson others = system_processes();
    text += "PID PPID STATE COMMAND\n";
    for (const OrderedJson& one : others) {
      text += dump_json(one["pid"]) + " " + dump_json(one["ppid"]) + " " +
              one["state"].get<std::string>() + " " + one_line(one["command"].get<std::string>()) +
              "\n";
    }
    json["system_processes"] = std::move(others);
  }
  return {.texts = {std::move(text)}, .structured = std::move(json), .error = {}};
}

}  // namespace

Tool process_list_tool() {
  Tool tool;
  tool.name = "process_list";
  tool.title = "List processes";
  tool.description =
      "List the background processes of this box, of every session: status, exit code, "
      "resources, log paths. Also what commands of this session left running.";
  tool.arguments = {{.name = "all",
                     .type = ArgumentType::kBoolean,
                     .description = "Include finished ones (at most 200 are kept).",
                     .fallback = true},
                    {.name = "name",
                     .description = "Only this name or process_id.",
                     .max_length = kMaxJobNameBytes},
                    {.name = "system",
                     .type = ArgumentType::kBoolean,
                     .description = "Also list other processes in the box (ps-like).",
                     .fallback = false}};
  tool.output_schema = kOutputSchema;
  tool.tier = Tier::kCore;
  tool.hints = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false};
  tool.handler = process_list;
  return tool;
}

}  // namespace agentbox::mcp
