// edge: list_ports: what in the box can be connected to, and which process that
// is.
#include <map>
#include <string>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/open_ports.h"
#include "agentbox/process_stat.h"
#include "agentbox/process_words.h"
#include "agentbox/processes.h"
#include "agentbox/reply_builder.h"
#include "agentbox/tools/tools.h"

namespace agentbox::mcp {
namespace {

constexpr std::size_t kCommandBytes = 200;

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"ports":{"type":"array","items":{"type":"object","properties":{
"protocol":{"type":"string","enum":["tcp","udp"]},
"address":{"type":"string","description":"0.0.0.0 and :: are all of the box's addresses."},
"port":{"type":"integer"},
"uid":{"type":"integer","description":"User whose socket it is."},
"pid":{"type":"integer","description":"Left out where no process in sight holds it."},
"command":{"type":"string"},
"process_id":{"type":"string","description":"Of the background process it belongs to."}},
"required":["protocol","address","port","uid"]}},
"truncated":{"type":"boolean","description":"There are more, or not every owner was looked for."}},
"required":["ports","truncated"]})";

// Which background process each pid belongs to.
std::map<pid_t, std::string> jobs_by_pid(Box& box) {
  std::map<pid_t, std::string> jobs;
  for (const JobRecord& record : Processes(box).list()) {
    if (record.status == JobStatus::kRunning) {
      for (const pid_t pid : live_tree(record)) {
        jobs[pid] = record.id;
      }
    }
  }
  return jobs;
}

std::string endpoint(const OpenPort& port) {
  const bool is_v6 = port.address.find(':') != std::string::npos;
  return (is_v6 ? "[" + port.address + "]" : port.address) + ":" + std::to_string(port.port);
}

ToolResult list_ports(const Arguments& arguments, CallContext& context) {
  const std::string& protocol = arguments.text("protocol");
  auto found = find_open_ports(protocol != "udp", protocol != "tcp",
                               [&context] { return context.cancelled(); });
  if (!found.ok()) {
    return failed(std::move(found).error());
  }
  const auto jobs = jobs_by_pid(context.box());
  OrderedJson list = OrderedJson::array();
  std::string table;
  bool unknown = false;
  for (const OwnedPort& each : found->ports) {
    OrderedJson entry = {{"protocol", each.protocol},
                         {"address", each.port.address},
                         {"port", each.port.port},
                         {"uid", each.port.uid}};
    std::string owner = "-\t-\tuid " + std::to_string(each.port.uid);
    if (each.pid > 0) {
      const auto job = jobs.find(each.pid);
      const std::string command = one_line(process_command(each.pid, kCommandBytes));
      entry["pid"] = each.pid;
      entry["command"] = command;
      if (job != jobs.end()) {
        entry["process_id"] = job->second;
      }
      owner = std::to_string(each.pid) + "\t" + (job != jobs.end() ? job->second : "-") + "\t" +
              command;
    }
    unknown = unknown || each.pid == 0;
    table += std::string(each.protocol) + "\t" + endpoint(each.port) + "\t" + owner + "\n";
    list.push_back(std::move(entry));
  }
  ReplyBuilder reply;
  reply.line("port_count", std::to_string(list.size()));
  reply.data("ports", std::move(list));
  reply.quiet_flag("truncated", found->incomplete);
  if (unknown) {
    reply.line("note",
               "without pid: of another user or container, or in a local box of another program of "
               "the machine");
  }
  return reply.finish("protocol, address, pid, process_id, command", table);
}

}  // namespace

Tool list_ports_tool() {
  Tool tool;
  tool.name = "list_ports";
  tool.title = "List listening ports";
  tool.description =
      "List the ports that something listens on, with the process behind each as far as it can be "
      "seen: to find the port of a server that was started. A box shares its network with its "
      "door, "
      "a local box with the whole machine.";
  tool.arguments = {{.name = "protocol",
                     .description = "Which kind.",
                     .fallback = std::string_view("tcp"),
                     .choices = {"tcp", "udp", "all"}}};
  tool.output_schema = kOutputSchema;
  tool.hints = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false};
  tool.handler = list_ports;
  return tool;
}

}  // namespace agentbox::mcp
