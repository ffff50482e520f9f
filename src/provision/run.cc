// edge: see run.h.
#include "provision/run.h"

#include <unistd.h>

#include <chrono>
#include <string_view>
#include <variant>

#include "base/handle.h"
#include "base/json.h"
#include "base/log.h"
#include "provision/audit_report.h"
#include "provision/bundle.h"
#include "provision/cli.h"
#include "provision/completion.h"
#include "provision/doctor.h"
#include "provision/local.h"
#include "provision/logs.h"
#include "provision/manual.h"
#include "provision/mcp_client.h"
#include "provision/proof.h"
#include "provision/report.h"
#include "provision/supervise.h"
#include "provision/transfer.h"
#include "provision/verify.h"

namespace agentbox::provision {
namespace {

/// Arguments of a tool on standard input: a line of the protocol is at most 16 MiB.
constexpr std::size_t kMaxArgumentBytes = 15U << 20U;

// create prints the same JSON whether it made the box or found it, so that it can be repeated.
Report said(const LocalBackend::Changed& done, std::string_view did, std::string_view did_not) {
  return done_report(done.view, done.changed ? did : did_not);
}

Answer<Json> read_arguments(const std::string& given) {
  std::string text = given;
  if (given == "-") {
    AB_TRY(input, read_fd_capped(STDIN_FILENO, kMaxArgumentBytes));
    text = std::move(input);
  }
  auto arguments = parse_json(text);
  if (!arguments.ok() || !arguments->is_object()) {
    return Failure{Exit::kUsage,
                   "the tool's arguments must be a JSON object" +
                       (arguments.ok() ? std::string() : ": " + arguments.error().what),
                   "for example: call NAME shell_exec '{\"command\": \"ls\"}'"};
  }
  return std::move(arguments).value();
}

Answer<Report> call_tool(const LocalBackend& backend, const Call& call) {
  AB_TRY(record, backend.store().load_existing(call.name));
  AB_TRY(arguments, read_arguments(call.arguments));
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(call.timeout_seconds);
  AB_TRY(session,
         open_session(record, std::min(deadline, std::chrono::steady_clock::now() + kProofStep)));
  AB_TRY(result, session.call_tool(call.tool, arguments, deadline));
  Report report;
  report.json = OrderedJson::parse(dump_json(result));
  report.text = text_of_result(result);
  report.exit = is_error_result(result) ? Exit::kFailed : Exit::kOk;
  return report;
}

Report removed_report(const BoxName& name, const LocalBackend::Removed& removed) {
  Report report;
  report.json["name"] = name.text();
  report.json["changed"] = removed.changed;
  report.text = removed.changed ? "box " + name.text() + " is deleted\n"
                                : "there was no box " + name.text() + "; nothing to do\n";
  if (!removed.kept_workspace.empty()) {
    report.json["workspace"] = removed.kept_workspace;
    report.text += "its workspace is kept in " + removed.kept_workspace + "\n";
  }
  return report;
}

Report handoff_report(const BoxView& view, Format format) {
  if (format == Format::kJson) {
    Report report = box_report(view);
    report.text = dump_json(report.json, 2) + "\n";
    return report;
  }
  Report report;
  report.text = render_handoff(view.ssh, format);
  report.json["name"] = view.record.name.text();
  report.json["text"] = report.text;
  return report;
}

Report text_report(std::string text) {
  Report report;
  report.json["text"] = text;
  report.text = std::move(text);
  return report;
}

// What each command does; all else is getting there and back.
class Runner {
 public:
  explicit Runner(const LocalBackend& backend) : backend_(backend) {}

  Answer<Report> operator()(const Create& command) const {
    AB_TRY(done, backend_.create(command.name, command.options));
    return said(done, "is made, running and proven", "exists already; nothing was changed");
  }
  Answer<Report> operator()(const ShowStatus& command) const {
    AB_TRY(view, backend_.view(command.name, true));
    return box_report(view);
  }
  Answer<Report> operator()(const List&) const {
    AB_TRY(views, backend_.views());
    return list_report(views);
  }
  Answer<Report> operator()(const Handoff& command) const {
    AB_TRY(view, backend_.view(command.name, false));
    if (view.record.port == 0 || view.record.host_key.empty()) {
      return Failure{Exit::kRefused, "box " + command.name.text() + " is not finished",
                     "run create again, or delete it"};
    }
    if (!command.bundle.empty()) {
      return write_bundle(view, command.bundle, command.with_identity);
    }
    return handoff_report(view, command.format);
  }
  Answer<Report> operator()(const Suspend& command) const {
    AB_TRY(done, backend_.suspend(command.name));
    return said(done, "is suspended", "is suspended already");
  }
  Answer<Report> operator()(const Resume& command) const {
    AB_TRY(done, backend_.resume(command.name));
    return said(done, "is running again and proven", "is running already");
  }
  Answer<Report> operator()(const Verify& command) const { return verify(backend_, command); }
  Answer<Report> operator()(const Delete& command) const {
    AB_TRY(removed, backend_.remove(command.name, command.keep_workspace));
    return removed_report(command.name, removed);
  }
  Answer<Report> operator()(const Call& command) const { return call_tool(backend_, command); }
  Answer<Report> operator()(const Logs& command) const {
    AB_TRY(record, backend_.store().load_existing(command.name));
    return last_lines(backend_.store().paths(record.name), record.name.text(), command.lines);
  }
  Answer<Report> operator()(const Rotate& command) const {
    AB_TRY(done, backend_.rotate(command.name, command.key_files));
    return rotated_report(done);
  }
  Answer<Report> operator()(const Revoke& command) const {
    AB_TRY(done, backend_.revoke(command.name, command.key, command.evict));
    return revoked_report(done);
  }
  Answer<Report> operator()(const Pull& command) const { return pull(backend_.store(), command); }
  Answer<Report> operator()(const Push& command) const { return push(backend_.store(), command); }
  Answer<Report> operator()(const Doctor& command) const { return doctor(backend_, command.name); }
  Answer<Report> operator()(const Audit& command) const {
    return audit_report(backend_.store(), command);
  }
  Answer<Report> operator()(const Completion& command) const {
    return text_report(render_completion(command_line_shape(AGENTBOX_VERSION), command.shell));
  }
  Answer<Report> operator()(const Manual&) const {
    return text_report(render_manual(command_line_shape(AGENTBOX_VERSION)));
  }
  Answer<Report> operator()(const Supervise& command) const {
    AB_CHECK(supervise(backend_.store(), command.name));
    return Report{};
  }

 private:
  const LocalBackend& backend_;
};

int finish(const std::string& text, Exit exit) {
  const bool written = write_all(STDOUT_FILENO, text).ok();
  return static_cast<int>(written ? exit : Exit::kFailed);
}

int fail(const Failure& failure, Output output) {
  static_cast<void>(write_all(STDERR_FILENO, rendered(failure, Output::kText)));
  return output == Output::kJson ? finish(rendered(failure, output), failure.exit)
                                 : static_cast<int>(failure.exit);
}

Answer<Report> carry_out(const Invocation& invocation) {
  AB_TRY(store, Store::find());
  const LocalBackend backend(std::move(store), invocation.programs);
  return std::visit(Runner(backend), invocation.command);
}

}  // namespace

int run(const std::vector<std::string>& arguments) {
  log::start("agentbox-provision", false, log::Level::kInfo);
  const auto parsed = parse_command_line(arguments, AGENTBOX_VERSION);
  if (const auto* shown = std::get_if<Shown>(&parsed)) {
    return finish(shown->text, Exit::kOk);
  }
  if (const auto* misused = std::get_if<Misused>(&parsed)) {
    return fail(misused->failure, misused->output);
  }
  const auto& invocation = std::get<Invocation>(parsed);
  const auto report = carry_out(invocation);
  if (!report.ok()) {
    return fail(report.error(), invocation.output);
  }
  if (report->printed) {
    static_cast<void>(write_all(STDERR_FILENO, report->text));
    return static_cast<int>(report->exit);
  }
  return finish(rendered(*report, invocation.output), report->exit);
}

}  // namespace agentbox::provision
