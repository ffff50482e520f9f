// edge: watch_files: what changed in a folder since a cursor, or since the call.
#include <chrono>
#include <ctime>
#include <optional>
#include <string>
#include <utility>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/hosted.h"
#include "agentbox/job_folder.h"
#include "agentbox/process_words.h"
#include "agentbox/reply_builder.h"
#include "agentbox/timestamps.h"
#include "agentbox/tools/tools.h"
#include "agentbox/watch_filter.h"
#include "agentbox/watch_host.h"
#include "agentbox/watch_words.h"

namespace agentbox::mcp {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr double kDefaultWait = 20;
constexpr double kMaxWait = 50;
constexpr std::int64_t kDefaultEvents = 500;
constexpr std::size_t kMaxCursorBytes = 256;
// The host may have to look at the whole of a large tree first, or at those of others.
constexpr seconds kHostTime{60};
constexpr seconds kDialTime{10};
// A host that ends just now is followed by another; its name is free soon.
constexpr seconds kFollowTime{5};
constexpr milliseconds kFollowPause{30};

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"path":{"type":"string"},
"events":{"type":"array","items":{"type":"object","properties":{
"seq":{"type":"integer"},
"op":{"type":"string","enum":["create","modify","delete","move","attrib","overflow"]},
"path":{"type":"string","description":"From the root; every path argument takes it as it is."},
"old_path":{"type":"string"},
"type":{"type":"string","description":"file, directory, symlink, ..."},
"at":{"type":"string","description":"RFC 3339 UTC."}},
"required":["seq","op","path","at"]},"description":"Merged per path within the debounce window. Delete and move of a directory stand for all in it."},
"next_cursor":{"type":"string","description":"Pass this next time: nothing is left out between."},
"overflow":{"type":"boolean","description":"Events were lost: list the files again, then go on with next_cursor."},
"timed_out":{"type":"boolean","description":"Nothing changed within wait_seconds."}},
"required":["path","events","next_cursor","overflow","timed_out"]})";

ToolError cancelled() { return {.code = "CANCELLED", .message = "the call was cancelled"}; }

ToolError watch_over() {
  return {.code = "BAD_CURSOR",
          .message = "the watch of the cursor has ended",
          .hint = "Call without cursor to begin anew, then list the files to see what is there"};
}

// A host that lives, or where STARTS a new one.
Outcome<std::string> find_host(Box& box, CallContext& context, bool starts) {
  if (!starts) {
    for (const JobRecord& record : JobFolder(box.workspace->output_folder()).list()) {
      if (record.kind == JobKind::kWatch && record.status == JobStatus::kRunning) {
        return record.id;
      }
    }
    return watch_over();
  }
  auto started = start_hosted(
      box, {.kind = JobKind::kWatch, .name = kWatchHostName, .words = {kWatchHostWord}}, context);
  if (started.ok()) {
    return (*started).id;
  }
  const OrderedJson& details = started.error().details;
  if (started.error().code == "EEXIST" && details.is_object() && details.contains("process_id") &&
      details["process_id"].is_string()) {
    return details["process_id"].get<std::string>();
  }
  return std::move(started).error();
}

// One question to the host ID. Nothing where it is gone.
Outcome<std::optional<WatchReply>> ask_host(Box& box, CallContext& context, const std::string& id,
                                            const WatchRequest& request) {
  const auto begun = steady_clock::now();
  auto line = dial_hosted(box, id, begun + kDialTime, context.cancel_fd());
  const auto deadline = steady_clock::now() + milliseconds(request.wait_ms) + kHostTime;
  Status sent = line.ok() ? line->send(encode_watch_request(request), deadline, context.cancel_fd())
                          : Status(line.error());
  auto answer = sent.ok() ? line->receive(deadline, context.cancel_fd())
                          : Result<Json>(std::move(sent).error());
  if (context.cancelled()) {
    return cancelled();
  }
  if (!answer.ok() &&
      (answer.error().code == Code::kNotFound || answer.error().code == Code::kUnavailable)) {
    return std::optional<WatchReply>();
  }
  auto reply = answer.ok() ? decode_watch_reply(*answer) : Result<WatchReply>(answer.error());
  if (!reply.ok()) {
    box.jobs->doom(id);  // stopped, or somebody else in its place: the next call finds a new one
    return ToolError{.code = "INTERNAL",
                     .message = "the program that holds the watches did not answer as it should: " +
                                reply.error().what,
                     .hint = "Call without cursor to begin anew"};
  }
  return std::optional(std::move(*reply));
}

Outcome<WatchReply> ask(CallContext& context, const WatchRequest& request) {
  Box& box = context.box();
  const auto end = steady_clock::now() + milliseconds(request.wait_ms) + kFollowTime;
  do {
    AB_TRY(id, find_host(box, context, request.cursor.empty()));
    AB_TRY(reply, ask_host(box, context, id, request));
    if (reply && reply->error) {
      return *std::move(reply->error);
    }
    if (reply) {
      return *std::move(reply);
    }
    (void)wait_readable(context.cancel_fd(), steady_clock::now() + kFollowPause);
  } while (!context.cancelled() && steady_clock::now() < end);
  return ToolError{.code = "SPAWN_FAILED",
                   .message = "the program that holds the watches ends as soon as it starts",
                   .hint = "Try again in a moment"};
}

Outcome<WatchRequest> make_request(const Arguments& arguments, CallContext& context) {
  const Workspace& workspace = *context.box().workspace;
  WatchRequest request;
  request.cursor = arguments.text("cursor");
  request.close = arguments.flag("close");
  const bool begins = !arguments.has("cursor");
  if (begins && request.close) {
    return ToolError{.code = "INVALID_ARGUMENT",
                     .message = "close needs the cursor of the watch that shall end",
                     .hint = "Pass the last next_cursor"};
  }
  AB_TRY(path, workspace.parse(arguments.text("path")));
  context.facts().path = workspace.show(path);
  if (!begins && !decode_cursor(request.cursor).ok()) {
    return ToolError{.code = "BAD_CURSOR",
                     .message = "the cursor is not one of watch_files",
                     .hint = "Pass a next_cursor as it is, or leave cursor out to begin anew"};
  }
  const auto given = [&](const char* name) { return begins || arguments.has(name); };
  if (given("path")) {
    request.path = workspace.show(path);
  }
  if (given("recursive")) {
    request.recursive = arguments.flag("recursive");
  }
  if (given("include")) {
    request.include = arguments.list("include");
  }
  if (given("exclude")) {
    request.exclude = arguments.has("exclude") ? arguments.list("exclude") : default_excludes();
  }
  if (given("debounce_ms")) {
    request.debounce_ms = arguments.integer("debounce_ms");
  }
  AB_TRY(filter, WatchFilter::compile(request.include.value_or(std::vector<std::string>()),
                                      request.exclude.value_or(std::vector<std::string>())));
  (void)filter;
  request.wait_ms = milliseconds_of(arguments.number("wait_seconds")).count();
  request.max_events = arguments.integer("max_events");
  return request;
}

std::string at_text(std::int64_t at_ms) {
  constexpr std::int64_t kMillis = 1000;
  constexpr std::int64_t kNanosOfMilli = 1'000'000;
  return timestamp({.tv_sec = static_cast<std::time_t>(at_ms / kMillis),
                    .tv_nsec = static_cast<long>(at_ms % kMillis * kNanosOfMilli)});
}

std::string line_of(const FileChange& change) {
  switch (change.op) {
    case ChangeOp::kCreate:
      return "+ " + change.path;
    case ChangeOp::kModify:
      return "~ " + change.path;
    case ChangeOp::kDelete:
      return "- " + change.path;
    case ChangeOp::kMove:
      return "> " + change.old_path + " -> " + change.path;
    case ChangeOp::kAttrib:
      return "% " + change.path;
    case ChangeOp::kOverflow:
      break;
  }
  return "! changes were lost, list the files again: " + change.path;
}

ToolResult word(const WatchReply& reply, bool timed_out) {
  ReplyBuilder out;
  OrderedJson events = OrderedJson::array();
  std::string lines;
  for (const auto& [seq, change] : reply.changes) {
    OrderedJson event;
    event["seq"] = seq;
    event["op"] = change_op_name(change.op);
    event["path"] = change.path;
    if (change.op == ChangeOp::kMove) {
      event["old_path"] = change.old_path;
    }
    if (!change.type.empty()) {
      event["type"] = change.type;
    }
    event["at"] = at_text(change.at_ms);
    events.push_back(std::move(event));
    lines += line_of(change) + "\n";
  }
  out.both("path", reply.path);
  out.data("events", std::move(events));
  out.both("next_cursor", reply.next_cursor);
  out.quiet_flag("overflow", reply.overflow);
  out.quiet_flag("timed_out", timed_out);
  return out.finish("events", lines);
}

ToolResult watch_files(const Arguments& arguments, CallContext& context) {
  auto request = make_request(arguments, context);
  if (!request.ok()) {
    return failed(std::move(request).error());
  }
  auto reply = ask(context, *request);
  if (!reply.ok()) {
    return failed(std::move(reply).error());
  }
  const bool waited = request->wait_ms > 0 && !request->close;
  return word(*reply, waited && reply->changes.empty());
}

Argument globs(std::string_view name, std::string_view description) {
  return {.name = name,
          .type = ArgumentType::kStringList,
          .description = description,
          .max_items = kMaxWatchPatterns};
}

}  // namespace

Tool watch_files_tool() {
  Tool tool;
  tool.name = "watch_files";
  tool.title = "Watch for file changes";
  tool.description =
      "Wait for file changes under a path and return them. Works by cursor, also after a "
      "reconnect, so that changes between calls are not lost: call once with wait_seconds=0, work, "
      "then ask with next_cursor what changed. What is made and removed within the debounce window "
      "is left out. A watch that nobody asks for 10 minutes ends.";
  tool.arguments = {
      {.name = "path",
       .description = "File or directory.",
       .fallback = std::string_view("."),
       .min_length = 1,
       .max_length = kMaxPathBytes},
      {.name = "recursive",
       .type = ArgumentType::kBoolean,
       .description = "With all directories below, new ones too.",
       .fallback = true},
      {.name = "cursor",
       .description = "From a previous next_cursor; without it, starts now.",
       .max_length = kMaxCursorBytes},
      {.name = "wait_seconds",
       .type = ArgumentType::kNumber,
       .description = "Wait this long for the first change.",
       .fallback = kDefaultWait,
       .minimum = 0,
       .maximum = kMaxWait},
      {.name = "debounce_ms",
       .type = ArgumentType::kInteger,
       .description = "Gather further changes for this long.",
       .fallback = kDefaultDebounceMs,
       .minimum = 0,
       .maximum = static_cast<double>(kMaxDebounceMs)},
      globs("include", "Globs, relative to path; default: everything."),
      globs("exclude", "Globs, relative to path; default **/.git/**, **/node_modules/**."),
      {.name = "max_events",
       .type = ArgumentType::kInteger,
       .description = "Most events to return; next_cursor leads to the rest.",
       .fallback = kDefaultEvents,
       .minimum = 1,
       .maximum = static_cast<double>(kMaxWatchEvents)},
      {.name = "close",
       .type = ArgumentType::kBoolean,
       .description = "Drop the watch behind cursor.",
       .fallback = false},
  };
  tool.output_schema = kOutputSchema;
  tool.hints = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false};
  tool.handler = watch_files;
  return tool;
}

}  // namespace agentbox::mcp
