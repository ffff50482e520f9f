// edge: process_output: what a process printed, resumable to the byte.
#include "agentbox/process_output.h"

#include <cstdint>
#include <string>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/process_words.h"
#include "agentbox/processes.h"
#include "agentbox/reply_builder.h"
#include "agentbox/tools/tools.h"

namespace agentbox::mcp {
namespace {

constexpr double kMaxTailLines = 10'000;

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"process_id":{"type":"string"},"name":{"type":"string"},
"status":{"type":"string","enum":["running","exited","killed","lost"]},
"exit_code":{"type":"integer","description":"-1: none, or none yet."},"signal":{"type":"string"},
"output":{"type":"string"},"encoding":{"type":"string","enum":["utf-8","base64"]},
"cursor":{"type":"integer","description":"Start of this piece, in bytes of the whole output."},
"next_cursor":{"type":"integer","description":"Pass this next time: nothing is left out between."},
"dropped_bytes":{"type":"integer","description":"Bytes before cursor that are gone: the log was rotated."},
"lost_bytes":{"type":"integer","description":"Bytes that no log has: the disk or the limit was full."},
"matched":{"type":"boolean"},
"eof":{"type":"boolean","description":"The process ended and all of its output was read."}},
"required":["process_id","status","exit_code","output","encoding","cursor","next_cursor","eof"]})";

std::uint64_t first_byte(const Arguments& arguments, const Processes& processes, Box& box,
                         const JobRecord& record, std::size_t max_bytes) {
  if (arguments.has("cursor")) {
    return static_cast<std::uint64_t>(arguments.integer("cursor"));
  }
  if (arguments.has("tail_lines")) {
    return find_last_lines(processes, record,
                           static_cast<std::size_t>(arguments.integer("tail_lines")), max_bytes);
  }
  const std::lock_guard lock(box.cursors_mutex);
  const auto left_off = box.cursors.find(record.id);
  return left_off == box.cursors.end() ? 0 : left_off->second;
}

ToolResult reply(const OutputPiece& piece, const ShownOutput& shown, bool waited) {
  const JobRecord& record = piece.record;
  ReplyBuilder out;
  out.both("process_id", record.id);
  out.both("name", record.name);
  out.both("status", std::string(job_status_name(record.status)));
  out.both("exit_code", record.exit_code);
  if (record.signal != 0) {
    out.both("signal", signal_name(record.signal));
  }
  out.data("output", shown.content);
  out.data("encoding", shown.is_base64 ? "base64" : "utf-8");
  out.both("cursor", piece.at);
  out.both("next_cursor", piece.next);
  if (piece.dropped > 0) {
    out.both("dropped_bytes", piece.dropped);
  }
  if (piece.eof && record.log_lost > 0) {
    out.both("lost_bytes", record.log_lost);
  }
  if (waited) {
    out.flag("matched", piece.matched);
  }
  out.flag("eof", piece.eof);
  if (shown.changed > 0) {
    out.line("escaped_characters",
             std::to_string(shown.changed) +
                 " (shown as \\u{..} or \\x{..}; raw in the structured result)");
  }
  return out.finish("output", whole_lines(shown.text));
}

// What a code context prints is read like a process's, though it is none that the others show.
Outcome<JobRecord> find_readable(const Processes& processes, const std::string& name) {
  if (is_job_id(name)) {
    auto record = processes.folder().find(name);
    if (record && record->kind == JobKind::kContext) {
      return *std::move(record);
    }
  }
  return processes.find(name);
}

ToolResult process_output(const Arguments& arguments, CallContext& context) {
  if (arguments.has("cursor") && arguments.has("tail_lines")) {
    return tool_failure("INVALID_ARGUMENT", "cursor and tail_lines exclude each other",
                        "Give one of them, or neither to go on where this session left off");
  }
  auto pattern = compile_pattern(arguments.text("pattern"));
  if (!pattern.ok()) {
    return failed(std::move(pattern).error());
  }
  const bool waits = pattern->has_value();
  Box& box = context.box();
  const Processes processes(box);
  auto record = find_readable(processes, arguments.text("process_id"));
  if (!record.ok()) {
    return failed(std::move(record).error());
  }
  const auto max_bytes = static_cast<std::size_t>(arguments.integer("max_bytes"));
  const std::uint64_t from = first_byte(arguments, processes, box, *record, max_bytes);
  const OutputRequest request{
      .from = from,
      .max_bytes = max_bytes,
      .wait = milliseconds_of(arguments.number("wait_seconds")),
      .wait_for = arguments.text("wait_for") == "exit" ? WaitFor::kExit : WaitFor::kOutput,
      .pattern = std::move(*pattern)};
  auto piece = read_output(processes, *record, request, context);
  if (!piece.ok()) {
    return failed(std::move(piece).error());
  }
  if (!arguments.has("tail_lines")) {
    leave_off(box, record->id, from, piece->next);
  }
  context.facts().bytes_out = piece->bytes.size();
  return reply(*piece, show_output(piece->bytes, arguments.flag("strip_ansi")), waits);
}

}  // namespace

Tool process_output_tool() {
  Tool tool;
  tool.name = "process_output";
  tool.title = "Read process output";
  tool.description =
      "Read the output of a background process, or all of a long shell_exec, from a cursor on. "
      "Can wait for more, for a pattern or for the exit. Pass next_cursor the next time: nothing "
      "is lost in between.";
  tool.arguments = {
      process_argument("process_id"),
      {.name = "cursor",
       .type = ArgumentType::kInteger,
       .description = "Byte position to read from; default: where this session left off.",
       .minimum = 0},
      {.name = "tail_lines",
       .type = ArgumentType::kInteger,
       .description = "Instead of a cursor: the last N lines.",
       .minimum = 1,
       .maximum = kMaxTailLines},
      {.name = "wait_seconds",
       .type = ArgumentType::kNumber,
       .description = "Wait this long for the condition.",
       .fallback = 0.0,
       .minimum = 0,
       .maximum = kMaxWaitSeconds},
      {.name = "wait_for",
       .description = "output, exit, or any. The end of the process ends every wait.",
       .fallback = std::string_view("any"),
       .choices = {"output", "exit", "any"}},
      {.name = "pattern",
       .description = "RE2 pattern to wait for.",
       .max_length = kMaxPatternBytes},
      {.name = "max_bytes",
       .type = ArgumentType::kInteger,
       .description = "Most bytes to return; next_cursor leads to the rest.",
       .fallback = kDefaultOutputBytes,
       .minimum = 1,
       .maximum = static_cast<double>(kMaxOutputBytes)},
      {.name = "strip_ansi",
       .type = ArgumentType::kBoolean,
       .description = "Remove terminal escape sequences.",
       .fallback = true},
  };
  tool.output_schema = kOutputSchema;
  tool.tier = Tier::kCore;
  tool.hints = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false};
  tool.handler = process_output;
  return tool;
}

}  // namespace agentbox::mcp
