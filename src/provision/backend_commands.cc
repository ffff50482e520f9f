// edge: see backend_commands.h.
#include "provision/backend_commands.h"

#include "base/log.h"
#include "provision/bundle.h"
#include "provision/call.h"
#include "provision/certificates.h"
#include "provision/transfer.h"
#include "provision/verify.h"

namespace agentbox::provision {
namespace {

// create prints the same JSON whether it made the box or found it, so that it can be repeated.
Report said(const Backend::Changed& done, std::string_view did, std::string_view did_not) {
  return done_report(done.view, done.changed ? did : did_not);
}

Report removed_report(const BoxName& name, const Backend::Removed& removed) {
  Report report;
  report.json["name"] = name.text();
  report.json["changed"] = removed.changed;
  report.text = removed.changed ? "box " + name.text() + " is deleted\n"
                                : "there was no box " + name.text() + "; nothing to do\n";
  if (!removed.kept_workspace.empty()) {
    report.json["workspace"] = removed.kept_workspace;
    report.text += "its workspace is kept in " + removed.kept_workspace + "\n";
  }
  if (!removed.to_remove.empty()) {
    report.json["to_remove"] = removed.to_remove;
    report.text += "to remove it: " + removed.to_remove + "\n";
  }
  return report;
}

Report handoff_report(const BoxView& view, Format format) {
  if (view.ssh.gateway.kind == GatewayKind::kJump) {
    log::info("status shows what the jump host's authorized_keys and sshd_config need");
  }
  for (const std::string& warning : gateway_warnings(view.ssh.gateway)) {
    log::warning(warning);
  }
  if (format == Format::kJson) {
    Report report = box_report(view);
    report.text = dump_json(report.json, 2) + "\n";
    return report;
  }
  if (view.ssh.identity_file.empty()) {
    log::info(identity_hint(view.ssh));
  }
  Report report;
  report.text = render_handoff(view.ssh, format);
  report.json["name"] = view.record.name.text();
  report.json["text"] = report.text;
  return report;
}

}  // namespace

Answer<Report> BackendCommands::operator()(const Create& command) const {
  if (command.dry_run) {
    return any_.try_create(command.name, command.options);
  }
  AB_TRY(done, any_.create(command.name, command.options));
  return said(done,
              done.view.not_checked.empty() ? "is made, running and proven" : "is made and running",
              "exists already; nothing was changed");
}

Answer<Report> BackendCommands::operator()(const ShowStatus& command) const {
  AB_TRY(view, any_.view(command.name, true));
  return status_report(view);
}

Answer<Report> BackendCommands::operator()(const List&) const {
  AB_TRY(views, any_.views());
  return list_report(views);
}

Answer<Report> BackendCommands::operator()(const Handoff& command) const {
  AB_TRY(view, any_.view(command.name, false));
  if (view.record.port == 0 || view.record.host_key.empty()) {
    return Failure{Exit::kRefused, "box " + command.name.text() + " is not finished",
                   "run create again, or delete it"};
  }
  if (!command.bundle.empty()) {
    return write_bundle(view, command.bundle, command.with_identity);
  }
  return handoff_report(view, command.format);
}

Answer<Report> BackendCommands::operator()(const Suspend& command) const {
  AB_TRY(done, any_.suspend(command.name));
  return said(done, "is suspended", "is suspended already");
}

Answer<Report> BackendCommands::operator()(const Resume& command) const {
  AB_TRY(done, any_.resume(command.name));
  return said(done,
              done.view.not_checked.empty() ? "is running again and proven" : "is running again",
              "is running already");
}

Answer<Report> BackendCommands::operator()(const Delete& command) const {
  AB_TRY(removed, any_.remove(command.name, command.keep_workspace));
  return removed_report(command.name, removed);
}

Answer<Report> BackendCommands::operator()(const Rotate& command) const {
  AB_TRY(done, any_.rotate(command.name, command.key_files));
  return rotated_report(done);
}

Answer<Report> BackendCommands::operator()(const CaTrust& command) const {
  AB_TRY(authorities, authorities_of(command.ca));
  AB_TRY(done, any_.change(
                   command.box,
                   [&](const BoxRecord& record) { return trust_authorities(record, authorities); },
                   false));
  if (done.gone.empty()) {
    done.sessions_ended = 0;  // whoever was in stays in
  }
  return trusted_report(done);
}

Answer<Report> BackendCommands::operator()(const Revoke& command) const {
  if (command.key.empty()) {
    AB_TRY(done, any_.change(
                     command.name,
                     [&](const BoxRecord& record) { return revoke_serial(record, command.serial); },
                     command.evict));
    return revoked_serial_report(done, command.serial);
  }
  AB_TRY(done, any_.revoke(command.name, command.key, command.evict));
  return revoked_report(done);
}

Answer<Report> BackendCommands::operator()(const Verify& command) const {
  return verify(any_, command);
}

Answer<Report> BackendCommands::operator()(const Call& command) const {
  return call_tool(any_, command);
}

Answer<Report> BackendCommands::operator()(const Logs& command) const {
  AB_TRY(logs, any_.logs(command.name, command.lines));
  return logs_report(command.name.text(), logs, command.lines);
}

Answer<Report> BackendCommands::operator()(const Pull& command) const {
  return pull(any_, command);
}

Answer<Report> BackendCommands::operator()(const Push& command) const {
  return push(any_, command);
}

}  // namespace agentbox::provision
