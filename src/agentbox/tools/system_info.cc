// edge: system_info: what the box is, what it may use, and what bounds hold.
#include <array>
#include <cstdint>
#include <cstdio>
#include <string>

#include "agentbox/box.h"
#include "agentbox/box_status.h"
#include "agentbox/call.h"
#include "agentbox/call_history.h"
#include "agentbox/directory.h"
#include "agentbox/environment.h"
#include "agentbox/job_host.h"
#include "agentbox/limits.h"
#include "agentbox/machine.h"
#include "agentbox/memory_watch.h"
#include "agentbox/process_output.h"
#include "agentbox/process_words.h"
#include "agentbox/processes.h"
#include "agentbox/resource_reader.h"
#include "agentbox/spill.h"
#include "agentbox/subscriptions.h"
#include "agentbox/tools/tools.h"
#include "agentbox/watch_host.h"

namespace agentbox::mcp {
namespace {

constexpr std::string_view kLifetime =
    "Files in the workspace and in the home folder stay. Jobs of process_start are the box's: they "
    "go on when the session ends, until process_kill, their own end, the revocation of the key "
    "that started them, or the end of the box. Commands of shell_exec, and what they leave "
    "running, end with the session that started them. The folders of temporary files and of "
    "output are emptied when the box starts.";
constexpr std::string_view kLocalLifetime =
    "Files in the workspace and in the home folder stay. Everything that runs ends with this "
    "session, jobs of process_start too: nothing hosts them here.";

constexpr std::array kToolLimits{
    LimitRow{"session_commands", kMaxKeepers, "commands of one session with live processes"},
    LimitRow{"output_file_bytes", kMaxSpillBytes, "kept of one command's whole output"},
    LimitRow{"output_folder_bytes", kMaxLogFolderBytes,
             "kept of all output, jobs' and commands'; the oldest finished goes"},
    LimitRow{"jobs", kMaxJobs, "jobs of the box that run at once"},
    LimitRow{"finished_kept", kMaxFinishedKept,
             "finished jobs whose record and output are kept; as many commands"},
    LimitRow{"job_log_bytes", 2 * kJobLogPieceBytes,
             "kept of one job's output: the newest, at least half of this"},
    LimitRow{"process_input_bytes", kMaxProcessInputBytes, "one process_input"},
    LimitRow{"process_input_seconds", kInputTime.count(), "a process may leave its input untaken"},
    LimitRow{"process_output_bytes", kMaxOutputBytes, "one process_output"},
    LimitRow{"memory_percent", kMemoryPercent,
             "of the box's memory limit; beyond it the largest job is ended"},
    LimitRow{"stop_grace_ms", kStopGrace.count(), "between SIGTERM and SIGKILL"},
    LimitRow{"watches", kMaxWatches, "watches of the box"},
    LimitRow{"watch_idle_minutes", kWatchIdleTime.count(), "a watch lives that nobody asks"},
    LimitRow{"watch_folders", kMaxWatchedFolders, "folders of one watch"},
    LimitRow{"watch_files", kMaxWatchedNames, "files and folders of one watch"},
    LimitRow{"watch_events", kMaxRingEvents, "changes that one watch keeps for its readers"},
    LimitRow{"listed_entries", kMaxVisited, "entries one listing looks at"},
    LimitRow{"path_bytes", kMaxPathBytes, "one path"},
    LimitRow{"resource_bytes", kMaxResourceBytes, "one resource; of a process's output the last"},
    LimitRow{"resource_subscriptions", kMaxSubscriptions, "resources subscribed to at once"},
    LimitRow{"update_interval_ms", kUpdateInterval.count(),
             "shortest time between two notices of changes of a resource"},
    LimitRow{"calls_remembered", kCallsRemembered, "calls that agentbox://audit shows"},
};

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"hostname":{"type":"string"},"os":{"type":"string"},"kernel":{"type":"string"},"arch":{"type":"string"},
"cpus":{"type":"number","description":"Effective (cgroup) CPUs."},
"memory_total_bytes":{"type":"integer"},"memory_used_bytes":{"type":"integer"},
"disk_total_bytes":{"type":"integer"},"disk_free_bytes":{"type":"integer"},
"load1":{"type":"number"},"uptime_seconds":{"type":"integer"},
"user":{"type":"string"},"uid":{"type":"integer"},"workspace":{"type":"string"},"home":{"type":"string"},
"output_folder":{"type":"string","description":"Where long command output is kept."},
"version":{"type":"string"},"session":{"type":"string"},
"role":{"type":"string","description":"Of the key that opened this session."},
"profile":{"type":"string","enum":["core","standard","full"],"description":"Of the tools that this session offers."},
"keys_generation":{"type":"integer","description":"Of the set of keys the door knew when this session began."},
"isolation":{"type":"string","description":"The door's processes as its monitor read them: user, capabilities, filter, what a network child holds."},
"lifetime":{"type":"string","description":"What outlives what."},
"tools":{"type":"array","items":{"type":"string"},"description":"Programs found: git, python3, node, ..."},
"metadata":{"type":"object","description":"SANDBOX_* variables.","additionalProperties":{"type":"string"}},
"limits":{"type":"object","description":"Effective limits.","additionalProperties":{"type":"integer"}},
"security":{"type":"object","description":"Which kernel features are in use.","properties":{
"openat2":{"type":"boolean"},"unnamed_files":{"type":"boolean"},"pidfd":{"type":"boolean"},"landlock":{"type":"boolean"},
"seccomp":{"type":"boolean"},"subreaper":{"type":"boolean"},"no_new_privileges":{"type":"boolean"}}}},
"required":["os","arch","workspace","version"]})";

void add_machine(OrderedJson& json, const Box& box) {
  const Machine machine = describe_machine();
  json["hostname"] = machine.hostname;
  json["os"] = machine.os;
  json["kernel"] = machine.kernel;
  json["arch"] = machine.arch;
  json["cpus"] = machine.cpus;
  json["uptime_seconds"] = machine.uptime_seconds;
  json["user"] = find_variable(box.environment, "USER");
  json["uid"] = machine.uid;
}

void add_usage(OrderedJson& json, const Box& box) {
  const Usage usage = measure_usage(box.workspace->folder());
  json["memory_total_bytes"] = usage.memory_total_bytes;
  json["memory_used_bytes"] = usage.memory_used_bytes;
  json["disk_total_bytes"] = usage.disk_total_bytes;
  json["disk_free_bytes"] = usage.disk_free_bytes;
  json["load1"] = usage.load1;
}

void add_box(OrderedJson& json, const Box& box) {
  const Settings& settings = box.settings;
  json["workspace"] = settings.workspace;
  json["home"] = find_variable(box.environment, "HOME");
  if (!settings.out.empty()) {
    json["output_folder"] = settings.out;
  }
  json["version"] = AGENTBOX_VERSION;
  json["session"] = settings.session;
  json["role"] = role_name(settings.role);
  json["profile"] = profile_name(settings.profile);
  json["keys_generation"] = settings.generation;
  if (!settings.isolation.empty()) {
    json["isolation"] = settings.isolation;
  }
  json["lifetime"] = settings.jobs_fd ? kLifetime : kLocalLifetime;
  json["tools"] = find_programs(find_variable(box.environment, "PATH"));
  json["metadata"] = sandbox_metadata(settings);
}

void add_limits(OrderedJson& json) {
  OrderedJson limits = OrderedJson::object();
  for (const LimitRow& row : kLimitRows) {
    limits[std::string(row.name)] = row.value;
  }
  for (const LimitRow& row : kToolLimits) {
    limits[std::string(row.name)] = row.value;
  }
  json["limits"] = std::move(limits);
}

void add_security(OrderedJson& json, const Box& box) {
  const Confinement confinement = describe_confinement();
  const KernelFeatures& features = box.workspace->features();
  OrderedJson security;
  security["openat2"] = features.openat2;
  security["unnamed_files"] = features.unnamed_files;
  security["pidfd"] = confinement.pidfd;
  security["landlock"] = false;
  security["seccomp"] = confinement.seccomp;
  security["subreaper"] = confinement.subreaper;
  security["no_new_privileges"] = confinement.no_new_privileges;
  json["security"] = std::move(security);
}

// "name: value" lines; nested values as compact JSON.
std::string as_lines(const OrderedJson& json) {
  std::string text;
  for (const auto& [name, value] : json.items()) {
    text += name + ": " + (value.is_string() ? value.get<std::string>() : dump_json(value)) + "\n";
  }
  return text;
}

ToolResult system_info(const Arguments& arguments, CallContext& context) {
  const Box& box = context.box();
  OrderedJson json;
  add_machine(json, box);
  if (arguments.flag("metrics")) {
    add_usage(json, box);
  }
  add_box(json, box);
  add_limits(json);
  add_security(json, box);
  std::string text = as_lines(json);
  return {.texts = {std::move(text)}, .structured = std::move(json), .error = {}};
}

}  // namespace

Tool system_info_tool() {
  Tool tool;
  tool.name = "system_info";
  tool.title = "System information";
  tool.description =
      "Describe this box: OS, CPUs, memory, disk, programs found, limits, workspace path, user, "
      "version, your key's role and profile, and sandbox metadata (SANDBOX_* variables).";
  tool.arguments = {{.name = "metrics",
                     .type = ArgumentType::kBoolean,
                     .description = "Also current usage.",
                     .fallback = true}};
  tool.output_schema = kOutputSchema;
  tool.tier = Tier::kCore;
  tool.hints = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false};
  tool.handler = system_info;
  return tool;
}

}  // namespace agentbox::mcp
