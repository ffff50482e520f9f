// edge: process_kill: ends a process with all it started, or sends it one signal.
#include <array>
#include <csignal>
#include <cstdint>
#include <string>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/process_stat.h"
#include "agentbox/process_words.h"
#include "agentbox/processes.h"
#include "agentbox/reply_builder.h"
#include "agentbox/tools/tools.h"

namespace agentbox::mcp {
namespace {

constexpr double kDefaultGrace = 2;
constexpr double kMaxGrace = 30;

struct Signal {
  std::string_view name;
  int number;
};
constexpr std::array kSignals{
    Signal{"SIGINT", SIGINT},   Signal{"SIGTERM", SIGTERM}, Signal{"SIGKILL", SIGKILL},
    Signal{"SIGHUP", SIGHUP},   Signal{"SIGQUIT", SIGQUIT}, Signal{"SIGUSR1", SIGUSR1},
    Signal{"SIGUSR2", SIGUSR2}, Signal{"SIGSTOP", SIGSTOP}, Signal{"SIGCONT", SIGCONT}};

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"process_id":{"type":"string"},"name":{"type":"string"},"pid":{"type":"integer"},
"signal":{"type":"string","description":"Last signal sent."},
"exited":{"type":"boolean","description":"Nothing of it runs any more."},
"exit_code":{"type":"integer","description":"Of its own process; -1: none, a signal ended it."},
"killed_count":{"type":"integer","description":"Processes signalled."},
"survivors":{"type":"array","items":{"type":"integer"},"description":"PIDs still alive."},
"log_path":{"type":"string"}},
"required":["process_id","name","pid","signal","exited","log_path"]})";

int signal_number(std::string_view name) {
  for (const Signal& signal : kSignals) {
    if (signal.name == name) {
      return signal.number;
    }
  }
  return SIGTERM;
}

// One that ended within the grace never saw the SIGKILL.
std::string last_signal(const JobRecord& record, bool force) {
  return force || record.signal == SIGKILL || record.status == JobStatus::kLost ? "SIGKILL"
                                                                                : "SIGTERM";
}

ToolResult reply(const Processes& processes, const Stopped& stopped, const std::string& signal) {
  const JobRecord& record = stopped.record;
  ReplyBuilder out;
  out.both("name", record.name);
  out.both("pid", record.pid);
  out.both("signal", signal);
  out.flag("exited", stopped.over);
  out.both("log_path", processes.log_path(record));
  out.both("process_id", record.id);
  if (stopped.over) {
    out.both("exit_code", record.exit_code);
  }
  if (stopped.signalled > 0) {
    out.both("killed_count", stopped.signalled);
  }
  if (!stopped.over) {
    OrderedJson survivors = OrderedJson::array();
    for (const pid_t pid : live_tree(record)) {
      survivors.push_back(pid);
    }
    out.data("survivors", std::move(survivors));
  }
  return out.finish();
}

ToolResult process_kill(const Arguments& arguments, CallContext& context) {
  Box& box = context.box();
  const Processes processes(box);
  auto record = processes.find(arguments.text("name"));
  if (!record.ok()) {
    return failed(std::move(record).error());
  }
  const bool force = arguments.flag("force");
  const bool only_leader = !arguments.flag("tree");
  if (!arguments.has("signal") && !only_leader) {
    const auto grace = milliseconds_of(force ? 0 : arguments.number("grace_seconds"));
    auto stopped = processes.stop(*record, grace, context);
    if (!stopped.ok()) {
      return failed(std::move(stopped).error());
    }
    return reply(processes, *stopped, last_signal((*stopped).record, force));
  }
  const std::string name = arguments.has("signal") ? arguments.text("signal")
                           : force                 ? "SIGKILL"
                                                   : "SIGTERM";
  auto stopped = processes.signal(*record, signal_number(name), !only_leader, context);
  if (!stopped.ok()) {
    return failed(std::move(stopped).error());
  }
  return reply(processes, *stopped, name);
}

}  // namespace

Tool process_kill_tool() {
  Tool tool;
  tool.name = "process_kill";
  tool.title = "Stop a process";
  tool.description =
      "Stop a background process and everything it started. SIGTERM first, SIGKILL after "
      "grace_seconds; force sends SIGKILL at once. Its record and output stay.";
  tool.arguments = {
      process_argument("name"),
      {.name = "force",
       .type = ArgumentType::kBoolean,
       .description = "SIGKILL at once.",
       .fallback = false},
      {.name = "signal",
       .description = "Send only this signal and do not wait.",
       .choices = {"SIGINT", "SIGTERM", "SIGKILL", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2",
                   "SIGSTOP", "SIGCONT"}},
      {.name = "tree",
       .type = ArgumentType::kBoolean,
       .description = "The whole process tree; false: one signal to its own process, no wait.",
       .fallback = true},
      {.name = "grace_seconds",
       .type = ArgumentType::kNumber,
       .description = "Between SIGTERM and SIGKILL.",
       .fallback = kDefaultGrace,
       .minimum = 0,
       .maximum = kMaxGrace},
  };
  tool.output_schema = kOutputSchema;
  tool.tier = Tier::kCore;
  tool.hints = {.read_only = false, .destructive = true, .idempotent = true, .open_world = false};
  tool.handler = process_kill;
  return tool;
}

}  // namespace agentbox::mcp
