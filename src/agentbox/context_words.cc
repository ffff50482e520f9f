// pure: see context_words.h.
#include "agentbox/context_words.h"

#include <utility>

#include "agentbox/visible.h"

namespace agentbox::mcp {
namespace {

std::string where_to_read(const ExecutionReport& report, const ExecutionView& view) {
  return "full output: process_output process_id=" + view.context_id +
         " cursor=" + std::to_string(report.log_start);
}

std::string_view shown_status(const ExecutionReport& report) {
  return report.error && report.status == ExecutionStatus::kOk
             ? "error"
             : execution_status_name(report.status);
}

// Both copies of a reply, made together.
class Composer {
 public:
  Composer(const ExecutionReport& report, const ExecutionView& view)
      : report_(report),
        view_(view),
        output_(show_stream(report.output, where_to_read(report, view))),
        errors_(show_stream(report.errors, where_to_read(report, view))) {}

  [[nodiscard]] std::string text() const;
  [[nodiscard]] OrderedJson data() const;

 private:
  void heads(std::string& text) const;
  void notes(std::string& text) const;

  const ExecutionReport& report_;
  const ExecutionView& view_;
  ShownStream output_;
  ShownStream errors_;
};

void add_line(std::string& text, std::string_view name, std::string_view value) {
  text.append(name).append(": ").append(value).append("\n");
}

void add_part(std::string& text, std::string_view headline, std::string_view content) {
  text.append("--- ").append(headline).append(" ---\n").append(content);
  if (!content.empty() && !content.ends_with('\n')) {
    text.push_back('\n');
  }
}

std::string which_context(const ExecutionView& view) {
  std::string words = "the default " + view.language + " context";
  words += view.is_new ? ", made by this call; every session of the box shares it"
                       : ", which every session of the box shares";
  return words;
}

void Composer::heads(std::string& text) const {
  add_line(text, "context_id", view_.context_id);
  add_line(text, "execution_count", std::to_string(report_.number));
  add_line(text, "status", shown_status(report_));
  if (report_.exit_code) {
    add_line(text, "exit_code", std::to_string(*report_.exit_code));
  }
  if (!view_.signal.empty()) {
    add_line(text, "signal", view_.signal);
  }
  add_line(text, "duration_ms", std::to_string(report_.duration_ms));
  add_line(text, "stdout_bytes", std::to_string(report_.output.total()));
  add_line(text, "stderr_bytes", std::to_string(report_.errors.total()));
}

void Composer::notes(std::string& text) const {
  if (!view_.language.empty()) {
    add_line(text, "context", which_context(view_));
  }
  if (report_.restarted) {
    add_line(text, "restarted", "state lost: the interpreter before this one had ended");
  }
  if (report_.status == ExecutionStatus::kExited) {
    add_line(text, "note",
             "the code ended its interpreter; its state is lost, and the next execution starts "
             "with a new one");
  }
  if (report_.unread > 0) {
    add_line(text, "note",
             "the result of execution " + std::to_string(report_.unread) +
                 ", which had run on after its call, was not fetched and is gone");
  }
  if (report_.late_bytes > 0) {
    add_line(text, "late_output_bytes",
             std::to_string(report_.late_bytes) +
                 " (printed after the execution before this one; process_output process_id=" +
                 view_.context_id + " shows them)");
  }
  for (std::size_t i = 0; i < view_.image_paths.size(); ++i) {
    add_line(text, "image", view_.image_paths[i] + (i < view_.shown.size() ? " (below)" : ""));
  }
  if (report_.images_left_out > 0) {
    add_line(
        text, "images_left_out",
        std::to_string(report_.images_left_out) + " (too large, too many, or the disk was full)");
  }
  const std::size_t changed = output_.changed + errors_.changed;
  if (changed > 0) {
    add_line(text, "escaped_characters",
             std::to_string(changed) + " (shown as \\u{..} or \\x{..})");
  }
}

std::string Composer::text() const {
  std::string text;
  heads(text);
  notes(text);
  add_part(text, "stdout", output_.text);
  add_part(text, "stderr", errors_.text);
  if (report_.result) {
    add_part(text, "result", make_visible(*report_.result).text);
  }
  if (report_.error) {
    add_part(text, "traceback", make_visible(report_.error->traceback).text);
  }
  return text;
}

OrderedJson Composer::data() const {
  OrderedJson data;
  data["context_id"] = view_.context_id;
  data["execution_count"] = report_.number;
  data["status"] = shown_status(report_);
  data["duration_ms"] = report_.duration_ms;
  data["stdout"] = output_.content;
  data["stderr"] = errors_.content;
  if (output_.is_base64) {
    data["stdout_encoding"] = "base64";
  }
  if (errors_.is_base64) {
    data["stderr_encoding"] = "base64";
  }
  data["truncated"] = report_.output.is_cut() || report_.errors.is_cut();
  if (report_.result) {
    data["result"] = *report_.result;
    data["result_bytes"] = report_.result_bytes;
  }
  if (report_.exit_code) {
    data["exit_code"] = *report_.exit_code;
  }
  data["images"] = view_.image_paths;
  if (!view_.language.empty()) {
    data["default_context"] = view_.language;
  }
  if (report_.restarted) {
    data["restarted"] = true;
  }
  if (report_.lost_state) {
    data["state_lost"] = true;
  }
  return data;
}

ToolError error_of(const ExecutionReport& report, const ExecutionView& view) {
  switch (report.status) {
    case ExecutionStatus::kTimedOut:
      return {.code = "TIMEOUT",
              .message = report.lost_state
                             ? "the code reached its timeout, did not react to SIGINT and was "
                               "killed; the state of the context is lost"
                             : "the code reached its timeout and was interrupted; the state of the "
                               "context is kept",
              .hint = "Set timeout_seconds higher, or let it run on: yield_seconds"};
    case ExecutionStatus::kInterrupted:
      return {.code = "INTERRUPTED",
              .message = report.lost_state
                             ? "the code was interrupted, did not react to SIGINT and was killed; "
                               "the state of the context is lost"
                             : "the code was interrupted; the state of the context is kept"};
    case ExecutionStatus::kDied:
      return {.code = "CONTEXT_DIED",
              .message = "the interpreter was ended by " +
                         (view.signal.empty() ? std::string("a signal") : view.signal) +
                         "; the state of the context is lost",
              .hint = view.signal == "SIGKILL"
                          ? "Memory may have run out. The next execution starts afresh"
                          : "The next execution starts afresh"};
    case ExecutionStatus::kNoStart:
      return {.code = "CONTEXT_DIED",
              .message = "the interpreter did not start",
              .hint = "Try it with shell_exec to see why"};
    default:
      break;
  }
  const CodeError& error = *report.error;
  const std::string message = make_visible(error.message).text;
  return {.code = "EXCEPTION",
          .message = make_visible(error.name).text + (message.empty() ? "" : ": ") + message};
}

}  // namespace

bool failed_execution(const ExecutionReport& report) {
  return report.error ||
         (report.status != ExecutionStatus::kOk && report.status != ExecutionStatus::kExited);
}

ToolResult show_execution(const ExecutionReport& report, ExecutionView view) {
  const Composer composer(report, view);
  ToolResult result;
  if (!failed_execution(report)) {
    result.texts.push_back(composer.text());
    if (view.shown.empty()) {
      result.structured = composer.data();
    }
    result.blocks = std::move(view.shown);
    return result;
  }
  ToolError error = error_of(report, view);
  error.details["context_id"] = view.context_id;
  error.details["execution_count"] = report.number;
  error.details["state_lost"] = report.lost_state;
  if (report.error) {
    error.details["name"] = report.error->name;
  }
  // A client that shows only this text still shows all that was printed.
  error.verbatim = "code_execute: " + error.code + ": " + error.message + "." +
                   (error.hint.empty() ? "" : " " + error.hint + ".") + "\n" + composer.text();
  result.error = std::move(error);
  return result;
}

ToolResult show_running(const ContextStatus& status, const ExecutionView& view) {
  std::string text;
  add_line(text, "context_id", view.context_id);
  add_line(text, "execution_count", std::to_string(status.number));
  add_line(text, "status", "running");
  if (!view.language.empty()) {
    add_line(text, "context", which_context(view));
  }
  add_line(
      text, "note",
      "it runs on, up to its timeout. code_execute with context_id=" + view.context_id +
          " and empty code waits for its end and returns its result; process_output process_id=" +
          view.context_id +
          " shows what it prints; code_context_delete with interrupt=true interrupts it");
  OrderedJson data;
  data["context_id"] = view.context_id;
  data["execution_count"] = status.number;
  data["status"] = "running";
  data["running_ms"] = status.busy_ms;
  ToolResult result;
  result.texts.push_back(std::move(text));
  result.structured = std::move(data);
  return result;
}

}  // namespace agentbox::mcp
