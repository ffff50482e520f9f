// edge: shell_exec: one command, its output, and an honest word on what became of it.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/commands.h"
#include "agentbox/environment.h"
#include "agentbox/process_words.h"
#include "agentbox/program_plan.h"
#include "agentbox/tools/tools.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

constexpr std::size_t kMaxStdinBytes = 4UL << 20;

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"status":{"type":"string","description":"exited, running, timed_out, killed or cancelled.","enum":["exited","running","timed_out","killed","cancelled"]},
"exit_code":{"type":"integer","description":"Exit code; -1 if none (running, killed by a signal, timed out)."},
"signal":{"type":"string","description":"Signal that ended it, e.g. SIGKILL."},
"timeout_seconds":{"type":"number","description":"Effective timeout."},
"duration_ms":{"type":"integer","description":"Wall time."},
"cwd":{"type":"string","description":"Directory it ran in."},
"process_id":{"type":"string","description":"Handle for the process tools: where it runs on, left something running, or printed more than is shown."},
"stdout":{"type":"string","description":"Captured stdout, as it was (head and tail when truncated)."},
"stderr":{"type":"string","description":"Captured stderr."},
"stdout_encoding":{"type":"string","description":"utf-8, or base64 when the bytes are not valid UTF-8.","enum":["utf-8","base64"]},
"stderr_encoding":{"type":"string","description":"As above.","enum":["utf-8","base64"]},
"stdout_bytes":{"type":"integer","description":"Bytes the command wrote to stdout in all."},
"stderr_bytes":{"type":"integer","description":"Bytes on stderr."},
"truncated":{"type":"boolean","description":"True if a stream was cut; the whole of both is at output_path."},
"output_path":{"type":"string","description":"File with the full interleaved output; read it with process_output or read_file."},
"output_dropped_bytes":{"type":"integer","description":"Bytes at the end that are not in that file: its limit or the disk was full."},
"cpu_ms":{"type":"integer","description":"User and system CPU time of the processes that ended."},
"max_rss_bytes":{"type":"integer","description":"Peak resident set of the command's own process."},
"background_left":{"type":"integer","description":"Processes the command left running."},
"lifetime":{"type":"string","description":"session: what still runs ends with this session; use process_start for what shall outlive it.","enum":["session"]},
"unkillable":{"type":"integer","description":"Processes that were still there after SIGKILL."}},
"required":["status","exit_code","timeout_seconds","duration_ms","cwd","stdout","stderr","stdout_encoding","stderr_encoding","stdout_bytes","stderr_bytes","truncated"]})";

std::string_view status_name(CommandStatus status) {
  switch (status) {
    case CommandStatus::kExited:
      return "exited";
    case CommandStatus::kRunning:
      return "running";
    case CommandStatus::kTimedOut:
      return "timed_out";
    case CommandStatus::kKilled:
      return "killed";
    case CommandStatus::kCancelled:
      return "cancelled";
  }
  return "";
}

// "120" or "0.5": no more digits than needed.
std::string number_text(double value) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%g", value);
  return text.data();
}

OrderedJson number_json(double value) {
  return std::floor(value) == value ? OrderedJson(static_cast<std::int64_t>(value))
                                    : OrderedJson(value);
}

Outcome<CommandRequest> make_request(const Arguments& arguments, const Box& box) {
  CommandRequest request;
  AB_TRY(environment, with_variables(box.environment, arguments.map("env")));
  request.environment = std::move(environment);
  AB_TRY(program, plan_program(arguments, request.environment, arguments.flag("login")));
  request.programs = std::move(program.programs);
  request.argv = std::move(program.argv);
  request.shown = cut_command(show_program(arguments));
  request.terminal = arguments.flag("tty");
  if (request.terminal) {
    prepare_for_terminal(request.environment, arguments.map("env"));
  }
  if (arguments.has("stdin")) {
    request.input = arguments.text("stdin");
    if (arguments.text("stdin_encoding") == "base64") {
      auto decoded = base64_decode(*request.input);
      if (!decoded.ok()) {
        return ToolError{.code = "INVALID_ENCODING",
                         .message = "stdin is no base64: " + decoded.error().what,
                         .hint = "Send plain text with stdin_encoding utf-8, or correct base64"};
      }
      request.input = std::move(*decoded);
    }
  }
  request.merge_errors = arguments.flag("merge_stderr");
  request.timeout = milliseconds_of(arguments.number("timeout_seconds"));
  request.yield = milliseconds_of(arguments.number("yield_seconds"));
  request.inline_bytes = static_cast<std::size_t>(arguments.integer("max_output_bytes"));
  return request;
}

// What the structured copy and the text both say.
struct Reply {
  const CommandResult& result;
  const std::string& cwd;
  double timeout;
  ShownStream output;
  ShownStream errors;

  [[nodiscard]] bool truncated() const { return result.output.is_cut() || result.errors.is_cut(); }
  /// Whether the lengths say what the text alone does not: how much there was, whether the last
  /// line had an end, or where a stream ends that holds a headline of its own.
  [[nodiscard]] bool lengths_tell() const {
    const auto is_plain = [](const ShownStream& shown) {
      return !shown.is_base64 && shown.changed == 0 &&
             (shown.text.empty() || shown.text.ends_with('\n')) &&
             shown.text.find("--- std") == std::string::npos;
    };
    return truncated() || !is_plain(output) || !is_plain(errors);
  }
  [[nodiscard]] OrderedJson structured() const;
  [[nodiscard]] std::string text() const;
};

OrderedJson Reply::structured() const {
  OrderedJson json;
  json["status"] = status_name(result.status);
  json["exit_code"] = result.exit_code;
  if (result.signal != 0) {
    json["signal"] = signal_name(result.signal);
  }
  json["timeout_seconds"] = number_json(timeout);
  json["duration_ms"] = result.duration.count();
  json["cwd"] = cwd;
  if (!result.process_id.empty()) {
    json["process_id"] = result.process_id;
  }
  json["stdout"] = output.content;
  json["stderr"] = errors.content;
  json["stdout_encoding"] = output.is_base64 ? "base64" : "utf-8";
  json["stderr_encoding"] = errors.is_base64 ? "base64" : "utf-8";
  json["stdout_bytes"] = result.output.total();
  json["stderr_bytes"] = result.errors.total();
  json["truncated"] = truncated();
  if (!result.output_path.empty()) {
    json["output_path"] = result.output_path;
  }
  if (result.output_dropped > 0) {
    json["output_dropped_bytes"] = result.output_dropped;
  }
  json["cpu_ms"] = result.cpu_us / 1000;
  json["max_rss_bytes"] = result.max_rss_bytes;
  if (result.background_left > 0) {
    json["background_left"] = result.background_left;
  }
  if (result.background_left > 0 || result.status == CommandStatus::kRunning) {
    json["lifetime"] = "session";
  }
  if (result.stuck > 0) {
    json["unkillable"] = result.stuck;
  }
  return json;
}

std::string Reply::text() const {
  std::string text = "exit_code: " + std::to_string(result.exit_code) +
                     "\ntimeout_seconds: " + number_text(timeout) + "\n";
  const auto line = [&](std::string_view name, const std::string& value) {
    text.append(name).append(": ").append(value).append("\n");
  };
  if (result.status != CommandStatus::kExited) {
    line("status", std::string(status_name(result.status)));
  }
  if (result.signal != 0) {
    line("signal", signal_name(result.signal));
  }
  if (!result.process_id.empty()) {
    line("process_id", result.process_id);
  }
  if (result.status == CommandStatus::kRunning) {
    line("note",
         "still running; process_output process_id=" + result.process_id +
             " shows what comes, process_kill ends it. It ends with this session and at its "
             "timeout; process_start starts what shall outlive the session");
  }
  if (result.status == CommandStatus::kTimedOut) {
    line("note", "the command exceeded its timeout of " + number_text(timeout) +
                     " s and was killed with all its processes; this is the output so far");
  }
  if (lengths_tell()) {
    line("stdout_bytes", std::to_string(result.output.total()));
    line("stderr_bytes", std::to_string(result.errors.total()));
  }
  if (result.background_left > 0) {
    line("background_left",
         std::to_string(result.background_left) +
             " (still running; lifetime: session, they end when this session ends; "
             "process_start starts what shall outlive it)");
  }
  if (result.stuck > 0) {
    line("unkillable",
         std::to_string(result.stuck) + " (still there after SIGKILL, stuck in the kernel)");
  }
  if (!result.output_path.empty()) {
    line("output_path", result.output_path);
  }
  if (result.output_dropped > 0) {
    line("output_dropped_bytes", std::to_string(result.output_dropped));
  }
  if (output.changed + errors.changed > 0) {
    line("escaped_characters", std::to_string(output.changed + errors.changed) +
                                   " (shown as \\u{..} or \\x{..}; raw in the structured result)");
  }
  const auto stream = [&](std::string_view name, const ShownStream& shown) {
    text.append("--- ").append(name).append(" ---\n").append(shown.text);
    if (!shown.text.empty() && !shown.text.ends_with('\n')) {
      text.push_back('\n');
    }
  };
  stream("stdout", output);
  stream("stderr", errors);
  return text;
}

// How to see what is left out of STREAM. The file holds both streams as they came, so only where
// the other one is empty does an offset in this one lead to a place in it.
std::string where_to_read(const CommandResult& result, const HeadTail& stream,
                          const HeadTail& other) {
  if (result.output_path.empty()) {
    return "they are not kept";
  }
  const std::size_t cursor = other.total() == 0 ? stream.pieces().head.size() : 0;
  return "full output: process_output process_id=" + result.process_id +
         " cursor=" + std::to_string(cursor) + ", or read_file path=" + result.output_path;
}

ToolResult shell_exec(const Arguments& arguments, CallContext& context) {
  Box& box = context.box();
  auto request = make_request(arguments, box);
  if (!request.ok()) {
    return failed(std::move(request).error());
  }
  const std::string given = arguments.has("cwd") ? arguments.text("cwd") : ".";
  auto path = box.workspace->parse(given);
  if (!path.ok()) {
    return failed(std::move(path).error());
  }
  auto folder = box.workspace->open_folder(*path);
  if (!folder.ok()) {
    return failed(std::move(folder).error());
  }
  context.facts().path = folder->shown;
  request->folder = folder->fd.get();
  request->shown_folder = folder->shown;
  auto result = run_command(box, context, *request);
  if (!result.ok()) {
    return failed(std::move(result).error());
  }
  const Reply reply{
      .result = *result,
      .cwd = folder->shown,
      .timeout = arguments.number("timeout_seconds"),
      .output = show_stream(result->output, where_to_read(*result, result->output, result->errors)),
      .errors =
          show_stream(result->errors, where_to_read(*result, result->errors, result->output))};
  context.facts().bytes_in = request->input ? request->input->size() : 0;
  context.facts().bytes_out = result->output.total() + result->errors.total();
  if (result->status == CommandStatus::kRunning && !reply.truncated()) {
    leave_off(box, result->process_id, 0, result->output.total() + result->errors.total());
  }
  if (result->status != CommandStatus::kRunning) {
    context.facts().exit_code = result->exit_code;
  }
  return {.texts = {reply.text()}, .structured = reply.structured(), .error = {}};
}

}  // namespace

Tool shell_exec_tool() {
  Tool tool;
  tool.name = "shell_exec";
  tool.title = "Run a shell command";
  tool.description =
      "Run a shell command in the workspace and get its exit code, stdout and stderr. For "
      "builds, tests, git, package managers. One that still runs after yield_seconds is not "
      "killed: it goes on as \"running\" with a process_id for process_output and process_kill, "
      "until this session ends at the latest. At timeout_seconds its whole process tree is "
      "killed. Output beyond max_output_bytes keeps its head and tail; process_output reads all "
      "of it.";
  tool.arguments = {
      command_argument(),
      words_argument(),
      folder_argument(),
      timeout_argument("Kill the whole process tree after this long."),
      yield_argument(),
      environment_argument(),
      {.name = "stdin",
       .description = "Data for standard input; without it stdin is empty.",
       .max_length = kMaxStdinBytes},
      {.name = "stdin_encoding",
       .description = "Encoding of stdin.",
       .fallback = std::string_view("utf-8"),
       .choices = {"utf-8", "base64"}},
      shell_argument(),
      {.name = "login",
       .type = ArgumentType::kBoolean,
       .description = "Login shell (reads profile files).",
       .fallback = false},
      {.name = "merge_stderr",
       .type = ArgumentType::kBoolean,
       .description = "Send stderr into stdout, in order.",
       .fallback = false},
      inline_bytes_argument(),
      reason_argument(),
      {.name = "tty",
       .type = ArgumentType::kBoolean,
       .description =
           "Run the command on a pseudo-terminal of its own (80x24), which takes stderr too. "
           "Without stdin it stays open for process_input.",
       .fallback = false},
  };
  tool.output_schema = kOutputSchema;
  tool.tier = Tier::kCore;
  tool.hints = {.read_only = false, .destructive = true, .idempotent = false, .open_world = true};
  tool.meta = R"({"anthropic/alwaysLoad":true,"anthropic/maxResultSizeChars":200000})";
  tool.handler = shell_exec;
  tool.may_be_task = true;
  return tool;
}

}  // namespace agentbox::mcp
