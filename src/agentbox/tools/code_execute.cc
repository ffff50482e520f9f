// edge: code_execute: runs code in an interpreter that keeps its state between calls.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/context_words.h"
#include "agentbox/contexts.h"
#include "agentbox/image_size.h"
#include "agentbox/limits.h"
#include "agentbox/process_words.h"
#include "agentbox/program_plan.h"
#include "agentbox/tools/code_tools.h"

namespace agentbox::mcp {
namespace {

constexpr std::size_t kMaxInlineImages = 4;
constexpr std::size_t kMaxInlineImageBytes = 5UL << 20;
// A text takes at most this many times its size in a reply, escapes and all.
constexpr std::size_t kTextCost = 8;
constexpr std::size_t kFrameBytes = 64UL << 10;

ToolError busy(const ContextStatus& status, const std::string& id) {
  OrderedJson details;
  details["context_id"] = id;
  details["busy_ms"] = status.busy_ms;
  return {.code = "CONTEXT_BUSY",
          .message = "context " + id + " is busy with execution " + std::to_string(status.number) +
                     " since " + std::to_string(status.busy_ms / 1000) + " s",
          .hint =
              "Wait for it with empty code, interrupt it with code_context_delete and "
              "interrupt=true, or use another context",
          .details = std::move(details)};
}

ToolError nothing_ran(const std::string& id) {
  return {.code = "INVALID_ARGUMENT",
          .message = "code is empty, and nothing has run in context " + id + " to wait for",
          .hint = "Give the code to run"};
}

// What images may have beside the texts of REPORT, unencoded.
std::size_t room_for_images(const ExecutionReport& report) {
  const auto kept = [](const HeadTail& stream) {
    const HeadTail::Pieces pieces = stream.pieces();
    return pieces.head.size() + pieces.tail.size();
  };
  const std::size_t texts = kFrameBytes + kTextCost * (kept(report.output) + kept(report.errors) +
                                                       report.result.value_or("").size());
  return texts > kMaxResultBytes
             ? 0
             : std::min(kMaxInlineImageBytes, (kMaxResultBytes - texts) / 4 * 3);
}

// The first images as blocks, as many as there is room for; the clients know no drawings.
std::vector<ContentBlock> inline_images(const Contexts& contexts, const JobRecord& record,
                                        const ExecutionReport& report) {
  std::vector<ContentBlock> blocks;
  std::size_t room = room_for_images(report);
  for (const CodeImage& image : report.images) {
    if (blocks.size() == kMaxInlineImages || image.mime == "image/svg+xml") {
      break;
    }
    auto data = contexts.read_image(record, image);
    // What is no image stays where it is: a client that cannot show it may refuse the whole answer.
    if (!data || data->size() > room || !image_size(*data)) {
      break;
    }
    room -= data->size();
    blocks.push_back(
        {.kind = ContentBlock::Kind::kImage, .bytes = std::move(*data), .mime_type = image.mime});
  }
  return blocks;
}

ToolResult code_execute(const Arguments& arguments, CallContext& context) {
  const std::string& code = arguments.text("code");
  if (code.find('\0') != std::string::npos) {
    return tool_failure("INVALID_ARGUMENT", "code holds a NUL byte", "Write \\0 inside the code");
  }
  const Contexts contexts(context.box(), context);
  const Language language = find_language(arguments.text("language")).value_or(Language::kPython);
  const auto chosen = contexts.choose(arguments.text("context_id"), language);
  if (!chosen.ok()) {
    return failed(chosen.error());
  }
  const std::string& id = chosen->record.id;
  ExecutionView view{.context_id = id};
  view.is_new = chosen->is_new;
  if (chosen->is_default) {
    view.language = arguments.text("language");
  }
  const auto executed = contexts.execute(
      chosen->record,
      {.code = code,
       .timeout = milliseconds_of(arguments.number("timeout_seconds")),
       .yield = milliseconds_of(arguments.number("yield_seconds")),
       .output_bytes = static_cast<std::size_t>(arguments.integer("max_output_bytes"))});
  context.facts().bytes_in = code.size();
  if (!executed.ok()) {
    return failed(executed.error());
  }
  switch (executed->kind) {
    case Executed::Kind::kBusy:
      return failed(busy(executed->status, id));
    case Executed::Kind::kNothing:
      return failed(nothing_ran(id));
    case Executed::Kind::kRunning:
      return show_running(executed->status, view);
    case Executed::Kind::kDone:
      break;
  }
  const ExecutionReport& report = executed->report;
  context.facts().bytes_out = report.output.total() + report.errors.total();
  context.facts().exit_code = report.exit_code;
  if (report.signal != 0) {
    view.signal = signal_name(report.signal);
  }
  for (const CodeImage& image : report.images) {
    view.image_paths.push_back(contexts.image_path(chosen->record, image));
  }
  if (arguments.text("images") == "inline" && !failed_execution(report)) {
    view.shown = inline_images(contexts, chosen->record, report);
  }
  return show_execution(report, std::move(view));
}

}  // namespace

Tool code_execute_tool() {
  Tool tool;
  tool.name = "code_execute";
  tool.title = "Execute code";
  tool.description =
      "Run Python, Node or Bash code in an interpreter that keeps variables, imports and the "
      "working directory for the next call, also across reconnects. Without context_id it is the "
      "default context of the language, which all sessions of the box share. Returns what was "
      "printed, the last expression's value, a traceback on an error, and figures as images. "
      "Code that still runs after yield_seconds runs on: call again with its context_id and "
      "empty code to wait for its result.";
  tool.arguments = {
      {.name = "code",
       .description = "Source code. Empty: wait for what runs in the context, or get the last "
                      "result again.",
       .required = true,
       .max_length = kMaxCodeBytes},
      {.name = "language",
       .description = "Language of the default context; with context_id not needed.",
       .fallback = std::string_view("python"),
       .choices = {"python", "node", "bash"}},
      {.name = "context_id", .description = "Context id or name.", .max_length = 64},
      timeout_argument("Interrupt after this long; the state is kept if the code reacts to it."),
      yield_argument(),
      inline_bytes_argument(),
      {.name = "images",
       .description = "inline: as image blocks; path: only the paths of their files.",
       .fallback = std::string_view("inline"),
       .choices = {"inline", "path"}},
      reason_argument(),
  };
  tool.tier = Tier::kCore;
  tool.hints = {.read_only = false, .destructive = true, .idempotent = false, .open_world = true};
  tool.handler = code_execute;
  tool.may_be_task = true;
  return tool;
}

}  // namespace agentbox::mcp
