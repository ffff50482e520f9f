// edge: see box_status.h.
#include "agentbox/box_status.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "agentbox/context_driver.h"
#include "agentbox/contexts.h"
#include "agentbox/job_folder.h"
#include "agentbox/machine.h"
#include "agentbox/process_stat.h"
#include "agentbox/processes.h"
#include "agentbox/protocol.h"
#include "agentbox/tool_table.h"

namespace agentbox::mcp {
namespace {

constexpr std::string_view kMetadataPrefix = "SANDBOX_";

// What KEP-539.2 calls core, by the tools that do it here.
constexpr std::array<std::string_view, 8> kCoreTools{
    "shell_exec", "process_kill", "process_output", "process_input",
    "read_file",  "write_file",   "list_directory", "file_info"};

bool has_tool(const std::vector<Tool>& tools, std::string_view name) {
  return std::any_of(tools.begin(), tools.end(),
                     [name](const Tool& tool) { return tool.name == name; });
}

// Nothing is claimed that this session does not offer.
OrderedJson standard_runtime(const Box& box) {
  const std::vector<Tool> tools = tools_of(box.settings.profile);
  OrderedJson contexts = OrderedJson::array();
  if (has_tool(tools, "code_execute")) {
    for (const Language language : kLanguages) {
      if (!find_interpreter(language, box.environment).empty()) {
        contexts.push_back(language_name(language));
      }
    }
  }
  const bool core = std::all_of(kCoreTools.begin(), kCoreTools.end(),
                                [&](std::string_view name) { return has_tool(tools, name); });
  return {{"core", core}, {"watch", has_tool(tools, "watch_files")}, {"contexts", contexts}};
}

// Since a process that began START ticks after the machine did.
std::uint64_t seconds_since(std::uint64_t start, std::uint64_t machine_seconds) {
  const std::uint64_t began = start / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  return machine_seconds - std::min(machine_seconds, began);
}

OrderedJson count_processes(Box& box) {
  std::uint64_t running = 0;
  std::uint64_t ended = 0;
  for (const JobRecord& record : Processes(box).list()) {
    ++(record.status == JobStatus::kRunning ? running : ended);
  }
  return {{"running", running}, {"ended", ended}};
}

std::size_t count_contexts(const Box& box) {
  const auto records = JobFolder(box.workspace->output_folder()).list();
  return static_cast<std::size_t>(
      std::count_if(records.begin(), records.end(), [](const JobRecord& record) {
        return record.kind == JobKind::kContext && record.status == JobStatus::kRunning;
      }));
}

}  // namespace

OrderedJson box_status(Box& box, const CallHistory& history) {
  const std::uint64_t machine_seconds = describe_machine().uptime_seconds;
  const auto first = read_process_stat(1);
  OrderedJson revisions = OrderedJson::array();
  for (const Version version : all_versions()) {
    revisions.push_back(features(version).name);
  }
  return {
      {"status", "ok"},
      {"uptime_seconds", first ? seconds_since(first->start, machine_seconds) : machine_seconds},
      {"session_uptime_seconds", seconds_since(box.own_start, machine_seconds)},
      {"calls",
       {{"ended", history.ended}, {"failed", history.failed}, {"cancelled", history.cancelled}}},
      {"processes", count_processes(box)},
      {"contexts", {{"running", count_contexts(box)}}},
      {"versions", {{"agent_box", AGENTBOX_VERSION}, {"protocol", std::move(revisions)}}},
      {"kep539_2", standard_runtime(box)}};
}

OrderedJson sandbox_metadata(const Settings& settings) {
  OrderedJson metadata = OrderedJson::object();
  for (const auto& [name, value] : settings.environment) {
    if (name.starts_with(kMetadataPrefix)) {
      metadata[name] = value;
    }
  }
  return metadata;
}

}  // namespace agentbox::mcp
