// edge: sandbox_reset: ends all that runs in the box, and on request empties the workspace.
#include <algorithm>
#include <cstdint>
#include <string>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/private_folder.h"
#include "agentbox/processes.h"
#include "agentbox/remover.h"
#include "agentbox/reply_builder.h"
#include "agentbox/tools/tools.h"
#include "agentbox/uploads.h"

namespace agentbox::mcp {
namespace {

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"processes_killed":{"type":"integer","description":"Jobs, tasks and this session's commands that ran."},
"contexts_closed":{"type":"integer"},
"uploads_dropped":{"type":"integer"},
"files_deleted":{"type":"integer","description":"Names gone from the workspace that were no folders."}},
"required":["processes_killed","contexts_closed","uploads_dropped","files_deleted"]})";

// Names of the workspace's own folder that are listed at once.
constexpr std::size_t kNamesATurn = 10'000;

struct Counts {
  std::uint64_t processes = 0;
  std::uint64_t contexts = 0;
  std::uint64_t uploads = 0;
  std::uint64_t files = 0;
};

// What is in the way of RECORD's end, if anything is.
std::optional<ToolError> end_process(const Processes& processes, const JobRecord& record,
                                     CallContext& context, Counts& counts) {
  if (record.status == JobStatus::kRunning) {
    auto stopped = processes.stop(record, kOrphanGrace, context);
    if (!stopped.ok() && stopped.error().code != "PROCESS_EXITED") {
      return std::move(stopped).error();
    }
    if (stopped.ok() && !stopped->over) {
      return ToolError{.code = "EBUSY",
                       .message = "process " + record.name + " does not end",
                       .hint = "Reset again; process_list shows what is left"};
    }
    if (record.kind == JobKind::kContext) {
      ++counts.contexts;
    } else if (record.kind != JobKind::kWatch) {
      ++counts.processes;
    }
  }
  if (record.of_box()) {
    processes.folder().remove(record.id);
  }
  return std::nullopt;
}

std::optional<ToolError> end_processes(Box& box, CallContext& context, Counts& counts) {
  const Processes processes(box);
  std::vector<JobRecord> records = processes.folder().list();
  // Commands of other sessions are theirs.
  std::erase_if(records, [](const JobRecord& record) { return !record.of_box(); });
  for (JobRecord& record : processes.list()) {
    if (!record.of_box()) {
      records.push_back(std::move(record));
    }
  }
  for (const JobRecord& record : records) {
    if (auto error = end_process(processes, record, context, counts)) {
      return error;
    }
  }
  return std::nullopt;
}

std::optional<ToolError> drop_uploads(const Box& box, CallContext& context, Counts& counts) {
  const Uploads uploads(*box.workspace, box.keep_folder);
  for (const std::string& id : uploads.open_ids()) {
    const auto dropped = uploads.abort(id, {.cancel_fd = context.cancel_fd()});
    if (!dropped.ok() && dropped.error().code != "UNKNOWN_UPLOAD") {
      return dropped.error();
    }
    counts.uploads += dropped.ok() ? 1U : 0U;
  }
  return std::nullopt;
}

std::optional<ToolError> empty_workspace(const Workspace& workspace, CallContext& context,
                                         Counts& counts) {
  const RemoveRequest request{
      .recursive = true, .force = true, .cancelled = [&context] { return context.cancelled(); }};
  for (;;) {
    const auto names = list_names(workspace.folder(), kNamesATurn);
    if (names.empty()) {
      return std::nullopt;
    }
    for (const std::string& name : names) {
      auto removed = remove_name(workspace, {.root = Root::kWorkspace, .relative = name}, request);
      if (!removed.ok() && removed.error().code != "ENOENT") {
        return std::move(removed).error();
      }
      counts.files += removed.ok() ? removed->files : 0;
    }
  }
}

ToolResult sandbox_reset(const Arguments& arguments, CallContext& context) {
  Box& box = context.box();
  Counts counts;
  auto error = end_processes(box, context, counts);
  if (!error) {
    error = drop_uploads(box, context, counts);
  }
  if (!error && arguments.flag("wipe")) {
    error = empty_workspace(*box.workspace, context, counts);
  }
  if (error) {
    error->message += " (" + std::to_string(counts.processes) + " processes and " +
                      std::to_string(counts.contexts) + " contexts were ended, " +
                      std::to_string(counts.files) + " files deleted before that)";
    return failed(*std::move(error));
  }
  ReplyBuilder reply;
  reply.both("processes_killed", counts.processes);
  reply.both("contexts_closed", counts.contexts);
  reply.both("uploads_dropped", counts.uploads);
  reply.both("files_deleted", counts.files);
  return reply.finish();
}

}  // namespace

Tool sandbox_reset_tool() {
  Tool tool;
  tool.name = "sandbox_reset";
  tool.title = "Reset the sandbox";
  tool.description =
      "End all jobs, tasks, code contexts, watches and uploads of this box; with wipe also empty "
      "the "
      "workspace. Commands of other sessions go on.";
  tool.arguments = {
      {.name = "wipe",
       .type = ArgumentType::kBoolean,
       .description = "Also delete everything in the workspace.",
       .fallback = false},
      {.name = "confirm",
       .type = ArgumentType::kString,
       .description = "The word RESET.",
       .required = true,
       .choices = {"RESET"}},
  };
  tool.output_schema = kOutputSchema;
  tool.hints = {.read_only = false, .destructive = true, .idempotent = true, .open_world = false};
  tool.tier = Tier::kAdmin;
  tool.handler = sandbox_reset;
  return tool;
}

}  // namespace agentbox::mcp
