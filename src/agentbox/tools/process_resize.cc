// edge: process_resize: the size of a process's terminal.
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

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"process_id":{"type":"string"},"cols":{"type":"integer"},"rows":{"type":"integer"}},
"required":["process_id","cols","rows"]})";

ToolResult process_resize(const Arguments& arguments, CallContext& context) {
  const Processes processes(context.box());
  auto record = processes.find(arguments.text("process_id"));
  if (!record.ok()) {
    return failed(std::move(record).error());
  }
  const std::int64_t columns = arguments.integer("cols");
  const std::int64_t rows = arguments.integer("rows");
  auto resized = processes.resize(*record, static_cast<std::uint32_t>(columns),
                                  static_cast<std::uint32_t>(rows), context);
  if (!resized.ok()) {
    return failed(std::move(resized).error());
  }
  ReplyBuilder out;
  out.both("process_id", record->id);
  out.both("cols", columns);
  out.both("rows", rows);
  return out.finish();
}

}  // namespace

Tool process_resize_tool() {
  Tool tool;
  tool.name = "process_resize";
  tool.title = "Resize a terminal";
  tool.description = "Change the terminal size of a background process started with tty.";
  tool.arguments = {process_argument("process_id"),
                    {.name = "cols",
                     .type = ArgumentType::kInteger,
                     .required = true,
                     .minimum = 1,
                     .maximum = kMaxTerminalSize},
                    {.name = "rows",
                     .type = ArgumentType::kInteger,
                     .required = true,
                     .minimum = 1,
                     .maximum = kMaxTerminalSize}};
  tool.output_schema = kOutputSchema;
  tool.tier = Tier::kFull;
  tool.hints = {.read_only = false, .destructive = false, .idempotent = true, .open_world = false};
  tool.handler = process_resize;
  return tool;
}

}  // namespace agentbox::mcp
