// edge: process_start: a job of the box, which goes on when its session ends.
#include <cstdint>
#include <string>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/environment.h"
#include "agentbox/process_output.h"
#include "agentbox/process_words.h"
#include "agentbox/processes.h"
#include "agentbox/program_plan.h"
#include "agentbox/reply_builder.h"
#include "agentbox/tools/tools.h"
#include "base/random.h"

namespace agentbox::mcp {
namespace {

// Output that a reply shows of a job's start.
constexpr std::size_t kFirstOutputBytes = 4096;
constexpr double kDefaultWait = 0.2;
constexpr double kMaxLifetime = 2'592'000;
constexpr std::int64_t kDefaultColumns = 120;
constexpr std::int64_t kDefaultRows = 40;
// Of a name that is made up: enough that two jobs of one command rarely get the same.
constexpr std::size_t kNameBytes = 3;
constexpr std::size_t kMaxStemBytes = 32;

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"process_id":{"type":"string","description":"Handle."},"name":{"type":"string","description":"Name."},
"pid":{"type":"integer","description":"Its own process."},"command":{"type":"string","description":"What was started, cut when long."},
"log_path":{"type":"string","description":"The newest part of its output; read it with process_output, or read_file and tail_log."},
"started_at":{"type":"string","description":"RFC 3339 UTC."},
"status":{"type":"string","enum":["running","exited","killed","lost"]},
"exit_code":{"type":"integer","description":"-1 while running, and where a signal ended it."},
"lifetime":{"type":"string","description":"box: it goes on when this session ends, until process_kill, its own end, or that of the box. session: nothing hosts jobs here, so it ends with this session.","enum":["box","session"]},
"output":{"type":"string","description":"Output so far (first 4 KiB)."},"encoding":{"type":"string","enum":["utf-8","base64"]},
"cursor":{"type":"integer","description":"Where process_output goes on."},
"matched":{"type":"boolean","description":"wait_for was seen."}},
"required":["process_id","name","pid","command","log_path","started_at","status","exit_code","cursor"]})";

// The program's own name and something random: "vite-3f9a1c".
std::string make_name(const std::string& command) {
  const std::size_t end = command.find_first_of(" \t\n;|&<>()");
  std::string word = command.substr(0, end);
  word = word.substr(word.rfind('/') == std::string::npos ? 0 : word.rfind('/') + 1);
  word.resize(std::min(word.size(), kMaxStemBytes));
  return (is_job_name(word) ? word : "job") + "-" + random_hex(kNameBytes);
}

Outcome<JobPlan> make_plan(const Arguments& arguments, const Box& box) {
  JobPlan plan;
  AB_TRY(environment, with_variables(box.environment, arguments.map("env")));
  plan.environment = std::move(environment);
  AB_TRY(program, plan_program(arguments, plan.environment, false));
  plan.programs = std::move(program.programs);
  plan.argv = std::move(program.argv);
  plan.command = cut_command(show_program(arguments));
  plan.has_input = arguments.text("stdin") == "pipe";
  if (const Arguments* terminal = arguments.object("tty")) {
    plan.terminal = true;
    plan.columns = static_cast<std::uint32_t>(terminal->integer("cols"));
    plan.rows = static_cast<std::uint32_t>(terminal->integer("rows"));
    prepare_for_terminal(plan.environment, arguments.map("env"));
  }
  plan.lifetime_seconds = static_cast<std::uint32_t>(arguments.integer("max_lifetime_seconds"));
  plan.restart = arguments.text("restart") == "on-failure";
  return plan;
}

ToolResult reply(const Box& box, const OutputPiece& piece, const std::string& log_path,
                 bool waited) {
  const JobRecord& record = piece.record;
  const ShownOutput shown = show_output(piece.bytes, false);
  ReplyBuilder out;
  out.both("name", record.name);
  out.both("pid", record.pid);
  out.data("command", record.command);
  out.line("command", one_line(record.command));
  out.both("log_path", log_path);
  out.both("started_at", started_text(record));
  out.both("process_id", record.id);
  out.both("status", std::string(job_status_name(record.status)));
  out.data("exit_code", record.exit_code);
  if (record.status != JobStatus::kRunning) {
    out.line("exit_code", std::to_string(record.exit_code));
  }
  const std::string lifetime = box.settings.jobs_fd ? "box" : "session";
  out.data("lifetime", lifetime);
  if (lifetime != "box") {
    out.line("lifetime", lifetime);  // not what the description promises
  }
  out.data("output", shown.content);
  out.data("encoding", shown.is_base64 ? "base64" : "utf-8");
  out.both("cursor", piece.next);
  if (waited) {
    out.flag("matched", piece.matched);
  }
  return piece.bytes.empty() ? out.finish() : out.finish("output", whole_lines(shown.text));
}

ToolResult process_start(const Arguments& arguments, CallContext& context) {
  Box& box = context.box();
  auto pattern = compile_pattern(arguments.text("wait_for"));
  if (!pattern.ok()) {
    return failed(std::move(pattern).error());
  }
  auto plan = make_plan(arguments, box);
  if (!plan.ok()) {
    return failed(std::move(plan).error());
  }
  auto path = box.workspace->parse(arguments.has("cwd") ? arguments.text("cwd") : ".");
  if (!path.ok()) {
    return failed(std::move(path).error());
  }
  auto folder = box.workspace->open_folder(*path);
  if (!folder.ok()) {
    return failed(std::move(folder).error());
  }
  plan->folder = folder->shown;
  context.facts().path = folder->shown;
  const Processes processes(box);
  const std::string name =
      arguments.has("name") ? arguments.text("name") : make_name(arguments.text("command"));
  auto record = processes.start(*plan, name, folder->fd.get(), context);
  if (!record.ok()) {
    return failed(std::move(record).error());
  }
  const bool waits = pattern->has_value();
  const OutputRequest request{.from = 0,
                              .max_bytes = kFirstOutputBytes,
                              .wait = milliseconds_of(arguments.number("wait_seconds")),
                              .wait_for = WaitFor::kExit,
                              .pattern = std::move(*pattern)};
  auto piece = read_output(processes, *record, request, context);
  if (!piece.ok()) {
    return failed(std::move(piece).error());
  }
  leave_off(box, record->id, 0, piece->next);
  context.facts().bytes_out = piece->bytes.size();
  return reply(box, *piece, processes.log_path(*record), waits);
}

std::vector<Argument> terminal_fields() {
  return {{.name = "cols",
           .type = ArgumentType::kInteger,
           .description = "Columns.",
           .fallback = kDefaultColumns,
           .minimum = 1,
           .maximum = kMaxTerminalSize},
          {.name = "rows",
           .type = ArgumentType::kInteger,
           .description = "Rows.",
           .fallback = kDefaultRows,
           .minimum = 1,
           .maximum = kMaxTerminalSize}};
}

}  // namespace

Tool process_start_tool() {
  Tool tool;
  tool.name = "process_start";
  tool.title = "Start a background process";
  tool.description =
      "Start a server or another long-running command in the background; it goes on when this "
      "session ends. wait_for returns as soon as its output matches. process_list finds it again "
      "from any session, process_output reads its output from any byte on.";
  tool.arguments = {
      command_argument(),
      words_argument(),
      {.name = "name",
       .description = "Unique name among live processes; generated if left out.",
       .shape = Shape::kName},
      folder_argument(),
      environment_argument(),
      {.name = "tty",
       .type = ArgumentType::kObject,
       .description = "Give it a pseudo-terminal.",
       .fields = terminal_fields()},
      {.name = "stdin",
       .description = "null: empty input; pipe: keep open for process_input.",
       .fallback = std::string_view("pipe"),
       .choices = {"null", "pipe"}},
      shell_argument(),
      {.name = "max_lifetime_seconds",
       .type = ArgumentType::kInteger,
       .description = "Kill after this long; 0 = no limit.",
       .fallback = std::int64_t{0},
       .minimum = 0,
       .maximum = kMaxLifetime},
      {.name = "wait_for",
       .description = "Regular expression (RE2) to wait for in the output before returning.",
       .max_length = kMaxPatternBytes},
      {.name = "wait_seconds",
       .type = ArgumentType::kNumber,
       .description = "How long to wait for wait_for, or for an early exit.",
       .fallback = kDefaultWait,
       .minimum = 0,
       .maximum = kMaxWaitSeconds},
      {.name = "restart",
       .description = "on-failure: start it again, after a growing pause, when it fails.",
       .fallback = std::string_view("never"),
       .choices = {"never", "on-failure"}},
      reason_argument(),
  };
  tool.output_schema = kOutputSchema;
  tool.tier = Tier::kCore;
  tool.hints = {.read_only = false, .destructive = true, .idempotent = false, .open_world = true};
  tool.meta = R"({"anthropic/alwaysLoad":true})";
  tool.handler = process_start;
  return tool;
}

}  // namespace agentbox::mcp
