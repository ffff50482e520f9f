// edge: process_input: types into a process, and hears its answer.
#include <array>
#include <cstdint>
#include <string>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/process_output.h"
#include "agentbox/process_words.h"
#include "agentbox/processes.h"
#include "agentbox/reply_builder.h"
#include "agentbox/tools/tools.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

constexpr double kDefaultWait = 1;
constexpr std::size_t kMaxKeys = 64;

struct Key {
  std::string_view name;
  std::string_view bytes;
};
constexpr std::array kKeys{Key{"ctrl-c", "\x03"},  Key{"ctrl-d", "\x04"}, Key{"ctrl-z", "\x1a"},
                           Key{"ctrl-\\", "\x1c"}, Key{"enter", "\r"},    Key{"tab", "\t"},
                           Key{"escape", "\x1b"},  Key{"up", "\x1b[A"},   Key{"down", "\x1b[B"},
                           Key{"right", "\x1b[C"}, Key{"left", "\x1b[D"}, Key{"backspace", "\x7f"}};

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"process_id":{"type":"string"},"bytes_written":{"type":"integer"},
"status":{"type":"string","enum":["running","exited","killed","lost"]},"exit_code":{"type":"integer"},
"output":{"type":"string","description":"What it printed after the input was written."},
"encoding":{"type":"string","enum":["utf-8","base64"]},"cursor":{"type":"integer"},"next_cursor":{"type":"integer"},
"matched":{"type":"boolean"}},
"required":["process_id","bytes_written","status","exit_code","output","encoding","next_cursor"]})";

Outcome<std::string> input_bytes(const Arguments& arguments, const JobRecord& record) {
  std::string bytes = arguments.text("data");
  if (arguments.text("encoding") == "base64") {
    auto decoded = base64_decode(bytes);
    if (!decoded.ok()) {
      return ToolError{.code = "INVALID_ENCODING",
                       .message = "data is no base64: " + decoded.error().what,
                       .hint = "Send plain text with encoding utf-8, or correct base64"};
    }
    bytes = std::move(*decoded);
  }
  if (!arguments.list("keys").empty() && !record.terminal) {
    return ToolError{.code = "NOT_A_TTY",
                     .message = "process " + record.name + " has no terminal to press keys on",
                     .hint = "Use data and eof, process_kill with a signal, or start it with tty"};
  }
  for (const std::string& name : arguments.list("keys")) {
    const auto* const key =
        std::find_if(kKeys.begin(), kKeys.end(), [&](const Key& one) { return one.name == name; });
    if (key == kKeys.end()) {
      std::string known;
      for (const Key& one : kKeys) {
        known += (known.empty() ? "" : ", ") + std::string(one.name);
      }
      return ToolError{.code = "INVALID_ARGUMENT",
                       .message = "keys: no key of that name",
                       .hint = "There are " + known};
    }
    bytes += key->bytes;
  }
  return bytes;
}

ToolResult process_input(const Arguments& arguments, CallContext& context) {
  auto pattern = compile_pattern(arguments.text("wait_for_pattern"));
  if (!pattern.ok()) {
    return failed(std::move(pattern).error());
  }
  const bool waits = pattern->has_value();
  Box& box = context.box();
  const Processes processes(box);
  auto record = processes.find(arguments.text("process_id"));
  if (!record.ok()) {
    return failed(std::move(record).error());
  }
  auto bytes = input_bytes(arguments, *record);
  if (!bytes.ok()) {
    return failed(std::move(bytes).error());
  }
  const std::uint64_t before = log_end(processes, *record);
  std::uint64_t written = 0;
  if (!bytes->empty() || arguments.flag("eof")) {
    auto wrote = processes.write(*record, *bytes, arguments.flag("eof"), context);
    if (!wrote.ok()) {
      return failed(std::move(wrote).error());
    }
    written = *wrote;
  }
  context.facts().bytes_in = written;
  const OutputRequest request{.from = before,
                              .max_bytes = static_cast<std::size_t>(arguments.integer("max_bytes")),
                              .wait = milliseconds_of(arguments.number("wait_seconds")),
                              .wait_for = WaitFor::kSettled,
                              .pattern = std::move(*pattern)};
  auto piece = read_output(processes, *record, request, context);
  if (!piece.ok()) {
    return failed(std::move(piece).error());
  }
  leave_off(box, record->id, before, piece->next);
  context.facts().bytes_out = piece->bytes.size();
  const ShownOutput shown = show_output(piece->bytes, true);
  ReplyBuilder out;
  out.both("process_id", record->id);
  out.both("bytes_written", written);
  out.both("status", std::string(job_status_name(piece->record.status)));
  out.both("exit_code", piece->record.exit_code);
  out.data("output", shown.content);
  out.data("encoding", shown.is_base64 ? "base64" : "utf-8");
  out.data("cursor", piece->at);
  out.both("next_cursor", piece->next);
  if (waits) {
    out.flag("matched", piece->matched);
  }
  return out.finish("output", whole_lines(shown.text));
}

}  // namespace

Tool process_input_tool() {
  Tool tool;
  tool.name = "process_input";
  tool.title = "Send input to a process";
  tool.description =
      "Type into a background process: text to its stdin or terminal, keys, or end of input. Can "
      "wait for the answer and return it.";
  tool.arguments = {
      process_argument("process_id"),
      {.name = "data",
       .description = "Text (or base64) to write. Add \\n yourself.",
       .max_length = kMaxProcessInputBytes},
      {.name = "encoding",
       .description = "How the bytes are encoded in this message.",
       .fallback = std::string_view("utf-8"),
       .choices = {"utf-8", "base64"}},
      {.name = "eof",
       .type = ArgumentType::kBoolean,
       .description = "Close stdin after writing (Ctrl-D on a terminal).",
       .fallback = false},
      {.name = "keys",
       .type = ArgumentType::kStringList,
       .description = "Terminal keys to send after data: ctrl-c, ctrl-d, ctrl-z, ctrl-\\, enter, "
                      "tab, escape, up, down, left, right, backspace.",
       .max_items = kMaxKeys},
      {.name = "wait_seconds",
       .type = ArgumentType::kNumber,
       .description = "Wait this long for output to settle.",
       .fallback = kDefaultWait,
       .minimum = 0,
       .maximum = kMaxWaitSeconds},
      {.name = "wait_for_pattern",
       .description = "Return as soon as this RE2 pattern appears.",
       .max_length = kMaxPatternBytes},
      {.name = "max_bytes",
       .type = ArgumentType::kInteger,
       .description = "Most bytes of output returned.",
       .fallback = kDefaultOutputBytes,
       .minimum = 0,
       .maximum = static_cast<double>(kMaxOutputBytes)},
  };
  tool.output_schema = kOutputSchema;
  tool.tier = Tier::kCore;
  tool.hints = {.read_only = false, .destructive = false, .idempotent = false, .open_world = false};
  tool.handler = process_input;
  return tool;
}

}  // namespace agentbox::mcp
