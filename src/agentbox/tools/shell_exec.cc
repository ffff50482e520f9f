// edge: shell_exec: one command, its output, and an honest word on what became of it.
#include <array>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <string>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/commands.h"
#include "agentbox/environment.h"
#include "agentbox/tools/tools.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

// execve takes 131,072 bytes in one argument, the terminating NUL included.
constexpr std::size_t kMaxCommandBytes = 131'000;
constexpr std::size_t kMaxStdinBytes = 4UL << 20;
constexpr std::size_t kMaxArguments = 4096;
constexpr std::int64_t kDefaultInlineBytes = 30'000;
constexpr std::int64_t kMaxInlineBytes = 262'144;
constexpr double kDefaultTimeout = 120;
constexpr double kMinTimeout = 0.1;
constexpr double kMaxTimeout = 3600;

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"status":{"type":"string","description":"exited, timed_out, killed or cancelled.","enum":["exited","timed_out","killed","cancelled"]},
"exit_code":{"type":"integer","description":"Exit code; -1 if none (killed by a signal, timed out)."},
"signal":{"type":"string","description":"Signal that ended it, e.g. SIGKILL."},
"timeout_seconds":{"type":"number","description":"Effective timeout."},
"duration_ms":{"type":"integer","description":"Wall time."},
"cwd":{"type":"string","description":"Directory it ran in."},
"stdout":{"type":"string","description":"Captured stdout, as it was (head and tail when truncated)."},
"stderr":{"type":"string","description":"Captured stderr."},
"stdout_encoding":{"type":"string","description":"utf-8, or base64 when the bytes are not valid UTF-8.","enum":["utf-8","base64"]},
"stderr_encoding":{"type":"string","description":"As above.","enum":["utf-8","base64"]},
"stdout_bytes":{"type":"integer","description":"Bytes the command wrote to stdout in all."},
"stderr_bytes":{"type":"integer","description":"Bytes on stderr."},
"truncated":{"type":"boolean","description":"True if a stream was cut; the whole of both is at output_path."},
"output_path":{"type":"string","description":"File with the full interleaved output; read it with read_file."},
"output_dropped_bytes":{"type":"integer","description":"Bytes at the end that are not in that file: its limit or the disk was full."},
"cpu_ms":{"type":"integer","description":"User and system CPU time of the processes that ended."},
"max_rss_bytes":{"type":"integer","description":"Peak resident set of the command's own process."},
"background_left":{"type":"integer","description":"Processes the command left running."},
"lifetime":{"type":"string","description":"session: those processes end with this session.","enum":["session"]},
"unkillable":{"type":"integer","description":"Processes that were still there after SIGKILL."}},
"required":["status","exit_code","timeout_seconds","duration_ms","cwd","stdout","stderr","stdout_encoding","stderr_encoding","stdout_bytes","stderr_bytes","truncated"]})";

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(number);
}

std::string_view status_name(CommandStatus status) {
  switch (status) {
    case CommandStatus::kExited:
      return "exited";
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

ToolError invalid(std::string message, std::string hint) {
  return {.code = "INVALID_ARGUMENT", .message = std::move(message), .hint = std::move(hint)};
}

// Where a program named without a slash may lie.
std::vector<std::string> places_of(const std::string& program,
                                   const std::vector<std::string>& environment) {
  if (program.find('/') != std::string::npos) {
    return {program};
  }
  std::vector<std::string> places;
  const std::string path = find_variable(environment, "PATH");
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    const std::string folder = path.substr(at, end - at);
    places.push_back((folder.empty() ? "." : folder) + "/" + program);
    at = end + 1;
  }
  return places;
}

Outcome<CommandRequest> make_request(const Arguments& arguments, const Box& box) {
  CommandRequest request;
  AB_TRY(environment, with_variables(box.environment, arguments.map("env")));
  request.environment = std::move(environment);
  const std::string& command = arguments.text("command");
  if (arguments.has("args")) {
    request.argv.push_back(command);
    request.argv.insert(request.argv.end(), arguments.list("args").begin(),
                        arguments.list("args").end());
    request.programs = places_of(command, request.environment);
  } else {
    const std::string& shell = arguments.text("shell");
    request.programs = {"/bin/" + shell, "/usr/bin/" + shell};
    request.argv = {shell};
    if (arguments.flag("login")) {
      request.argv.emplace_back("-l");
    }
    request.argv.insert(request.argv.end(), {"-c", "--", command});
  }
  for (const std::string& word : request.argv) {
    if (word.find('\0') != std::string::npos) {
      return invalid("the command holds a NUL byte", "Use printf '\\0' inside the command instead");
    }
    if (word.size() > kMaxCommandBytes) {
      return invalid("an argument has more than 131000 bytes, which no program can be given",
                     "Write a script with write_file and run that");
    }
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
  request.timeout = std::chrono::milliseconds(
      static_cast<std::int64_t>(arguments.number("timeout_seconds") * 1000));
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
  if (result.status == CommandStatus::kTimedOut) {
    line("note", "the command exceeded its timeout of " + number_text(timeout) +
                     " s and was killed with all its processes; this is the output so far");
  }
  line("stdout_bytes", std::to_string(result.output.total()));
  line("stderr_bytes", std::to_string(result.errors.total()));
  if (result.background_left > 0) {
    line("background_left",
         std::to_string(result.background_left) +
             " (still running; lifetime: session, they end when this session ends)");
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
  auto result = run_command(box, context, *request);
  if (!result.ok()) {
    return failed(std::move(result).error());
  }
  const std::string where = result->output_path.empty()
                                ? "they are not kept"
                                : "full output: read_file path=" + result->output_path;
  const Reply reply{.result = *result,
                    .cwd = folder->shown,
                    .timeout = arguments.number("timeout_seconds"),
                    .output = show_stream(result->output, where),
                    .errors = show_stream(result->errors, where)};
  context.facts().bytes_in = request->input ? request->input->size() : 0;
  context.facts().bytes_out = result->output.total() + result->errors.total();
  context.facts().exit_code = result->exit_code;
  return {.texts = {reply.text()}, .structured = reply.structured(), .error = {}};
}

}  // namespace

Tool shell_exec_tool() {
  Tool tool;
  tool.name = "shell_exec";
  tool.title = "Run a shell command";
  tool.description =
      "Run a command with /bin/sh -c in the workspace and return its exit code, stdout and stderr. "
      "Answers when the command's own process has "
      "ended; what it left in the background runs on until this session ends. At timeout_seconds "
      "the whole process tree is killed. "
      "Output beyond max_output_bytes keeps its head and tail; the whole of it is saved at "
      "output_path, which read_file reads.";
  tool.arguments = {
      {.name = "command",
       .description = "Shell command line; with args: the program to run.",
       .required = true,
       .min_length = 1,
       .max_length = kMaxCommandBytes},
      {.name = "args",
       .type = ArgumentType::kStringList,
       .description = "Run command with exactly these arguments and no shell.",
       .max_items = kMaxArguments},
      {.name = "cwd",
       .description = "Working directory. Default: workspace root.",
       .min_length = 1,
       .max_length = 4096},
      {.name = "timeout_seconds",
       .type = ArgumentType::kNumber,
       .description = "Kill the whole process tree after this long.",
       .fallback = kDefaultTimeout,
       .minimum = kMinTimeout,
       .maximum = kMaxTimeout},
      {.name = "env",
       .type = ArgumentType::kStringMap,
       .description = "Extra environment variables."},
      {.name = "stdin",
       .description = "Data for standard input; without it stdin is empty.",
       .max_length = kMaxStdinBytes},
      {.name = "stdin_encoding",
       .description = "Encoding of stdin.",
       .fallback = std::string_view("utf-8"),
       .choices = {"utf-8", "base64"}},
      {.name = "shell",
       .description = "Shell to use with command.",
       .fallback = std::string_view("sh"),
       .choices = {"sh", "bash"}},
      {.name = "login",
       .type = ArgumentType::kBoolean,
       .description = "Login shell (reads profile files).",
       .fallback = false},
      {.name = "merge_stderr",
       .type = ArgumentType::kBoolean,
       .description = "Send stderr into stdout, in order.",
       .fallback = false},
      {.name = "max_output_bytes",
       .type = ArgumentType::kInteger,
       .description = "Inline bytes per stream.",
       .fallback = kDefaultInlineBytes,
       .minimum = 0,
       .maximum = kMaxInlineBytes},
      {.name = "description",
       .description = "One line on why (logged, never interpreted).",
       .max_length = 500},
  };
  tool.output_schema = kOutputSchema;
  tool.hints = {.read_only = false, .destructive = true, .idempotent = false, .open_world = true};
  tool.meta = R"({"anthropic/alwaysLoad":true,"anthropic/maxResultSizeChars":200000})";
  tool.handler = shell_exec;
  return tool;
}

}  // namespace agentbox::mcp
