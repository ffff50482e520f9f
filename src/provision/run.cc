// edge: see run.h.
#include "provision/run.h"

#include <unistd.h>

#include <array>
#include <optional>
#include <string_view>
#include <variant>

#include "base/handle.h"
#include "base/log.h"
#include "base/version.h"
#include "provision/audit/command.h"
#include "provision/audit_log.h"
#include "provision/backend_commands.h"
#include "provision/certificates.h"
#include "provision/cli.h"
#include "provision/completion.h"
#include "provision/doctor.h"
#include "provision/http.h"
#include "provision/kube/commands.h"
#include "provision/local.h"
#include "provision/manual.h"
#include "provision/report.h"
#include "provision/supervise.h"

namespace agentbox::provision {
namespace {

Report text_report(std::string text) {
  Report report;
  report.json["text"] = text;
  report.text = std::move(text);
  return report;
}

// What each command does; all else is getting there and back.
class Runner : public BackendCommands {
 public:
  explicit Runner(const LocalBackend& backend) : BackendCommands(backend), backend_(backend) {}
  using BackendCommands::operator();

  Answer<Report> operator()(const Doctor& command) const { return doctor(backend_, command.name); }
  Answer<Report> operator()(const Audit& command) const { return audit::audit(backend_, command); }
  Answer<Report> operator()(const CaInit& command) const {
    return init_ca(backend_.store(), command);
  }
  Answer<Report> operator()(const CaSign& command) const {
    return sign_certificate(backend_.store(), command);
  }
  Answer<Report> operator()(const AuditLog& command) const {
    return audit_log(backend_.store(), command);
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
  // These never get here: they are about a cluster alone.
  Answer<Report> operator()(const Render&) const { return Report{}; }
  Answer<Report> operator()(const RenderGuard&) const { return Report{}; }
  Answer<Report> operator()(const Gc&) const { return Report{}; }
  Answer<Report> operator()(const Preflight&) const { return Report{}; }
  Answer<Report> operator()(const ShowRole&) const { return Report{}; }
  Answer<Report> operator()(const TemplateCommand&) const { return Report{}; }
  Answer<Report> operator()(const PoolCommand&) const { return Report{}; }

 private:
  const LocalBackend& backend_;
};

int finish(const std::string& text, Exit exit) {
  const bool written = write_all(STDOUT_FILENO, text).ok();
  return static_cast<int>(written ? exit : Exit::kFailed);
}

std::string text_of(const BoxName& name) { return name.text(); }
std::string text_of(const std::optional<BoxName>& name) { return name ? name->text() : ""; }

// Of the box that the command is about; empty where there is none.
std::string name_in(const Command& command) {
  return std::visit(
      [](const auto& asked) -> std::string {
        if constexpr (requires { asked.name; }) {
          return text_of(asked.name);
        } else if constexpr (requires { asked.box; }) {
          return text_of(asked.box);
        } else {
          return {};
        }
      },
      command);
}

int fail(const Failure& failure, Output output) {
  static_cast<void>(write_all(STDERR_FILENO, rendered(failure, Output::kText)));
  return output == Output::kJson ? finish(rendered(failure, output), failure.exit)
                                 : static_cast<int>(failure.exit);
}

Answer<Report> carry_out(const Invocation& invocation) {
  const std::string ns = invocation.cluster ? invocation.cluster->overrides.ns : "";
  if (const auto* shown = std::get_if<Render>(&invocation.command)) {
    return kube::render(*shown, ns);
  }
  if (const auto* shown = std::get_if<RenderGuard>(&invocation.command)) {
    return kube::render_guard(*shown);
  }
  if (const auto* shown = std::get_if<ShowRole>(&invocation.command)) {
    return kube::show_role(*shown, ns);
  }
  if (auto shown = kube::render_pools(invocation.command, ns)) {
    return *std::move(shown);
  }
  AB_TRY(store, Store::find());
  if (invocation.cluster) {
    return kube::run_in_cluster(invocation, store);
  }
  const LocalBackend backend(std::move(store), invocation.programs);
  return std::visit(Runner(backend), invocation.command);
}

}  // namespace

int run(const std::vector<std::string>& arguments) {
  log::start("agentbox-provision", false, log::Level::kInfo);
  const std::array libraries = {ssh_library(), http_library(), crypto_library(), c_library()};
  const auto parsed = parse_command_line(
      arguments, version_text("agentbox-provision", AGENTBOX_VERSION, libraries));
  if (const auto* shown = std::get_if<Shown>(&parsed)) {
    return finish(shown->text, Exit::kOk);
  }
  if (const auto* misused = std::get_if<Misused>(&parsed)) {
    return fail(misused->failure, misused->output);
  }
  const auto& invocation = std::get<Invocation>(parsed);
  const auto report = carry_out(invocation);
  if (!report.ok()) {
    Failure failure = report.error();
    if (const std::string name = name_in(invocation.command); !name.empty()) {
      failure.next = advice_for(name, failure.next);
    }
    return fail(failure, invocation.output);
  }
  if (report->printed) {
    static_cast<void>(write_all(STDERR_FILENO, report->text));
    return static_cast<int>(report->exit);
  }
  return finish(rendered(*report, invocation.output), report->exit);
}

}  // namespace agentbox::provision
