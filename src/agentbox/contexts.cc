// edge: see contexts.h.
#include "agentbox/contexts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "agentbox/box_path.h"
#include "agentbox/context_host.h"
#include "agentbox/environment.h"
#include "agentbox/job_id.h"
#include "agentbox/private_folder.h"
#include "agentbox/processes.h"
#include "base/random.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// A host answers at once unless agent code stopped it.
constexpr seconds kAnswerTime{5};
// Of each, where many are asked: one that is stopped is shown all the same.
constexpr milliseconds kStatusTime{500};
// An interpreter that starts, on a machine with much to do.
constexpr seconds kStartTime{40};
// Beyond its timeout: the interrupt, the kill, and the way there and back.
constexpr seconds kEndTime{60};
// Between two questions to a host that does not know yet what it hosts.
constexpr milliseconds kOpenPause{20};
constexpr milliseconds kEndGrace{300};
constexpr std::string_view kNamedPrefix = ".context.";
constexpr std::string_view kUnnamedPrefix = ".context-";
constexpr std::string_view kDefaultPrefix = ".context-default-";
// A longer name is hashed: a job's has no room for it.
constexpr std::size_t kLongestPlainName = 40;
constexpr std::size_t kHashedNameBytes = 48;
constexpr std::size_t kUnnamedBytes = 10;

ToolError cancelled() { return {.code = "CANCELLED", .message = "the call was cancelled"}; }

ToolError no_answer() {
  return {.code = "INTERNAL",
          .message = "the host of the context does not answer",
          .hint = "code_context_delete ends the context all the same"};
}

ToolError host_died() {
  return {.code = "CONTEXT_DIED",
          .message = "the host of the context ended, and with it all that was defined in it",
          .hint =
              "Run the code again: without context_id that starts a new context; a named one "
              "is made by code_context_create"};
}

std::string hosted_name(const ContextPlan& plan) {
  if (plan.is_default) {
    return std::string(kDefaultPrefix) + std::string(language_name(plan.language));
  }
  if (plan.name.empty()) {
    return std::string(kUnnamedPrefix) + random_hex(kUnnamedBytes);
  }
  return std::string(kNamedPrefix) + (plan.name.size() <= kLongestPlainName
                                          ? plan.name
                                          : sha256_hex(plan.name).substr(0, kHashedNameBytes));
}

bool is_program(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

ToolError unavailable(Language language, const std::vector<std::string>& environment) {
  std::string there;
  for (const Language each : kLanguages) {
    if (!find_interpreter(each, environment).empty()) {
      there += (there.empty() ? "" : ", ") + std::string(language_name(each));
    }
  }
  return {
      .code = "LANGUAGE_UNAVAILABLE",
      .message = "there is no " + interpreter_names(language).front() + " in the PATH of the box",
      .hint = there.empty() ? std::string("Install it, or use shell_exec")
                            : "These languages are there: " + there};
}

}  // namespace

std::string find_interpreter(Language language, const std::vector<std::string>& environment) {
  const std::string path = find_variable(environment, "PATH");
  for (const std::string& name : interpreter_names(language)) {
    for (std::size_t at = 0; at <= path.size();) {
      const std::size_t end = std::min(path.find(':', at), path.size());
      const std::string program = path.substr(at, end - at) + "/" + name;
      if (end > at && path[at] == '/' && is_program(program)) {
        return program;
      }
      at = end + 1;
    }
  }
  return {};
}

std::optional<Language> default_language(const JobRecord& record) {
  const std::string_view name = record.name;
  return name.starts_with(kDefaultPrefix) ? find_language(name.substr(kDefaultPrefix.size()))
                                          : std::nullopt;
}

std::vector<JobRecord> Contexts::records() const {
  std::vector<JobRecord> records = JobFolder(box_.workspace->output_folder()).list();
  std::erase_if(records, [](const JobRecord& record) {
    return record.kind != JobKind::kContext || record.status != JobStatus::kRunning;
  });
  return records;
}

Outcome<HostedLine> Contexts::dial(const JobRecord& record, TimePoint deadline) const {
  auto line = dial_hosted(box_, record.id, std::min(deadline, steady_clock::now() + kAnswerTime),
                          context_.cancel_fd());
  if (line.ok()) {
    return std::move(*line);
  }
  if (context_.cancelled()) {
    return cancelled();
  }
  return line.error().code == Code::kNotFound ? host_died() : no_answer();
}

Outcome<ContextReply> Contexts::receive(HostedLine& line, TimePoint deadline) const {
  const auto message = line.receive(deadline, context_.cancel_fd());
  if (!message.ok()) {
    if (context_.cancelled()) {
      return cancelled();
    }
    return message.error().code == Code::kTimeout ? no_answer() : host_died();
  }
  auto reply = read_context_reply(*message);
  return reply.ok() ? Outcome<ContextReply>(std::move(*reply)) : no_answer();
}

// A host that another call has just started says kNothing until it knows what it hosts.
Outcome<ContextReply> Contexts::ask(const JobRecord& record, const ContextRequest& request,
                                    TimePoint deadline) const {
  for (;;) {
    AB_TRY(line, dial(record, deadline));
    if (!line.send(write_context_request(request), deadline, context_.cancel_fd()).ok()) {
      return context_.cancelled() ? cancelled() : host_died();
    }
    AB_TRY(reply, receive(line, deadline));
    if (reply.kind != ContextReply::Kind::kNothing || !reply.status.language.empty()) {
      return reply;
    }
    if (wait_readable(context_.cancel_fd(), steady_clock::now() + kOpenPause)) {
      return cancelled();
    }
    if (steady_clock::now() >= deadline) {
      return no_answer();
    }
  }
}

std::vector<Context> Contexts::list() const {
  std::vector<Context> contexts;
  for (JobRecord& record : records()) {
    const auto reply =
        ask(record, {.kind = ContextRequest::Kind::kStatus}, steady_clock::now() + kStatusTime);
    const bool answered = reply.ok() && reply->kind == ContextReply::Kind::kStatus;
    contexts.push_back(
        {.record = std::move(record),
         .status = answered ? std::optional(reply->status) : std::optional<ContextStatus>()});
  }
  return contexts;
}

Outcome<JobRecord> Contexts::find(const std::string& name) const {
  const ContextPlan named{.name = name};
  for (JobRecord& record : records()) {
    if (record.id == name || record.name == hosted_name(named)) {
      return std::move(record);
    }
  }
  std::string live;
  for (const Context& context : list()) {
    const std::string& given = context.status ? context.status->name : std::string();
    live += (live.empty() ? "" : ", ") + (given.empty() ? context.record.id : given);
  }
  return ToolError{.code = "UNKNOWN_CONTEXT",
                   .message = "there is no context " + quote_name(name) +
                              "; one that was unused for its idle time has ended",
                   .hint = live.empty() ? std::string("None lives; code_context_create makes one")
                                        : "These live: " + live};
}

Outcome<Chosen> Contexts::choose(const std::string& name, Language language) const {
  if (!name.empty()) {
    AB_TRY(record, find(name));
    return Chosen{.record = std::move(record)};
  }
  const ContextPlan plan{.language = language, .is_default = true};
  for (JobRecord& record : records()) {
    if (record.name == hosted_name(plan)) {
      return Chosen{.record = std::move(record), .is_default = true};
    }
  }
  auto created = create(plan);
  if (created.ok()) {
    return Chosen{.record = std::move(created->record), .is_default = true, .is_new = true};
  }
  if (created.error().code == "EEXIST") {  // another call was first
    const Json details(created.error().details);
    const std::string* id = find_string(details, "process_id");
    AB_TRY(record, find(id == nullptr ? std::string() : *id));
    return Chosen{.record = std::move(record), .is_default = true};
  }
  return std::move(created).error();
}

std::optional<ToolError> Contexts::refuse_more() const {
  if (records().size() < kMaxContexts) {
    return std::nullopt;
  }
  std::string idle;
  for (const Context& context : list()) {
    if (context.status && !context.status->busy) {
      idle += (idle.empty() ? "" : ", ") + context.record.id + " (" + context.status->language +
              (context.status->name.empty() ? "" : " " + context.status->name) + ", unused for " +
              std::to_string(context.status->idle_ms / 1000) + " s)";
    }
  }
  return ToolError{.code = "TOO_MANY_CONTEXTS",
                   .message = "there are " + std::to_string(kMaxContexts) + " contexts already",
                   .hint = idle.empty()
                               ? std::string("All are busy; end one with code_context_delete")
                               : "End one with code_context_delete. These are idle: " + idle};
}

Outcome<Context> Contexts::create(const ContextPlan& plan) const {
  AB_TRY(environment, with_variables(box_.environment, plan.variables));
  const std::string program = find_interpreter(plan.language, environment);
  if (program.empty()) {
    return unavailable(plan.language, environment);
  }
  AB_TRY(path, box_.workspace->parse(plan.folder));
  AB_TRY(folder, box_.workspace->open_folder(path));
  if (auto refused = refuse_more()) {
    return *std::move(refused);
  }
  AB_TRY(
      record,
      start_hosted(
          box_, {.kind = JobKind::kContext, .name = hosted_name(plan), .words = {kContextHostWord}},
          context_));
  ContextRequest open{.kind = ContextRequest::Kind::kOpen,
                      .language = std::string(language_name(plan.language)),
                      .program = program,
                      .name = plan.name,
                      .folder = plan.folder,
                      .idle_seconds = plan.idle_seconds};
  for (const auto& [name, value] : plan.variables) {
    open.variables.insert(open.variables.end(), {name, value});
  }
  const auto reply = ask(record, open, steady_clock::now() + kStartTime);
  if (reply.ok() && !reply->status.never_started) {
    return Context{.record = std::move(record), .status = reply->status};
  }
  box_.jobs->doom(record.id);  // nobody would know of it
  if (!reply.ok()) {
    return reply.error();
  }
  return ToolError{.code = "SPAWN_FAILED",
                   .message = program + " did not start",
                   .hint = "Try it with shell_exec to see why"};
}

Outcome<Executed> Contexts::execute(const JobRecord& record, const Execution& execution) const {
  const bool waits = execution.code.empty();
  const ContextRequest request{
      .kind = waits ? ContextRequest::Kind::kWait : ContextRequest::Kind::kExecute,
      .code = execution.code,
      .timeout_ms = execution.timeout.count(),
      .output_bytes = static_cast<std::int64_t>(execution.output_bytes)};
  // Answered at once, as soon as it knows what it hosts.
  const auto deadline = steady_clock::now() + kAnswerTime;
  AB_TRY(known, ask(record, {.kind = ContextRequest::Kind::kDetach}, deadline));
  AB_TRY(line, dial(record, deadline));
  if (!line.send(write_context_request(request), deadline, context_.cancel_fd()).ok()) {
    return context_.cancelled() ? cancelled() : host_died();
  }
  return follow(line, execution);
}

Outcome<Executed> Contexts::follow(HostedLine& line, const Execution& execution) const {
  const auto start = steady_clock::now();
  const bool yields = execution.yield.count() > 0;
  const auto until = start + (yields ? execution.yield : execution.timeout + kEndTime);
  for (;;) {
    auto reply = receive(line, until);
    if (!reply.ok()) {
      const bool late = steady_clock::now() >= until && !context_.cancelled();
      return yields && late && reply.error().code == "INTERNAL" ? detach(line)
                                                                : std::move(reply).error();
    }
    switch (reply->kind) {
      case ContextReply::Kind::kDone:
        return Executed{.kind = Executed::Kind::kDone, .report = std::move(reply->report)};
      case ContextReply::Kind::kBusy:
        return Executed{.kind = Executed::Kind::kBusy, .status = reply->status};
      case ContextReply::Kind::kNothing:
        return Executed{.kind = Executed::Kind::kNothing, .status = reply->status};
      case ContextReply::Kind::kProgress:
        context_.progress(static_cast<double>(reply->output_bytes),
                          std::to_string(reply->output_bytes) + " bytes of output");
        break;
      default:
        break;
    }
  }
}

// The execution goes on without us; unless it was over just now.
Outcome<Executed> Contexts::detach(HostedLine& line) const {
  const auto deadline = steady_clock::now() + kAnswerTime;
  if (!line.send(write_context_request({.kind = ContextRequest::Kind::kDetach}), deadline).ok()) {
    return host_died();
  }
  for (;;) {
    AB_TRY(reply, receive(line, deadline));
    if (reply.kind == ContextReply::Kind::kDone) {
      return Executed{.kind = Executed::Kind::kDone, .report = std::move(reply.report)};
    }
    if (reply.kind == ContextReply::Kind::kDetached) {
      return Executed{.kind = Executed::Kind::kRunning, .status = reply.status};
    }
  }
}

Outcome<bool> Contexts::interrupt(const JobRecord& record) const {
  AB_TRY(reply, ask(record, {.kind = ContextRequest::Kind::kInterrupt},
                    steady_clock::now() + kAnswerTime));
  return reply.status.busy;
}

Outcome<bool> Contexts::end(const JobRecord& record) const {
  AB_TRY(stopped, Processes(box_).stop(record, kEndGrace, context_));
  return stopped.over;
}

std::string Contexts::image_path(const JobRecord& record, const CodeImage& image) const {
  return box_.settings.out + "/" + kJobsFolderName + "/" + record.id + "/" + image.file;
}

std::optional<std::string> Contexts::read_image(const JobRecord& record,
                                                const CodeImage& image) const {
  const auto folder = JobFolder(box_.workspace->output_folder()).open(record.id);
  auto data = folder.ok() && is_image_file_name(image.file)
                  ? read_private_file(folder->get(), image.file, kMaxImageBytes)
                  : Result<std::string>(Error{Code::kNotFound, "no image"});
  return data.ok() ? std::optional(std::move(*data)) : std::nullopt;
}

}  // namespace agentbox::mcp
