// pure: see report.h.
#include "provision/report.h"

#include <algorithm>

#include "base/text.h"
#include "provision/quote.h"

namespace agentbox::provision {
namespace {

OrderedJson path_or_null(const std::string& path) {
  return path.empty() ? OrderedJson(nullptr) : OrderedJson(path);
}

OrderedJson fingerprint_json(const std::string& host_key) {
  const auto key = PublicKey::parse(host_key);
  return key.ok() ? OrderedJson(key->fingerprint()) : OrderedJson(nullptr);
}

// What stands between the client and the box, and what its operator has to do.
OrderedJson gateway_json(const BoxView& view) {
  const Gateway& gateway = view.ssh.gateway;
  if (gateway.kind == GatewayKind::kNone) {
    return nullptr;
  }
  OrderedJson json;
  json["kind"] = gateway.kind == GatewayKind::kJump ? "jump" : "sshpiper";
  json["host"] = gateway.host;
  json["port"] = gateway.port;
  json["host_key_fingerprint"] = fingerprint_json(gateway.host_key);
  json["known_hosts_file"] = view.ssh.gateway_known_hosts_file;
  if (gateway.kind == GatewayKind::kJump) {
    json["user"] = gateway.user;
    json["authorized_keys"] = jump_key_lines(view);
    json["sshd_config"] = jump_host_config(gateway);
  } else {
    json["namespace"] = gateway.ns;
    json["box"] = {{"host", view.ssh.host},
                   {"port", view.ssh.port},
                   {"host_key_fingerprint", fingerprint_json(view.record.host_key)}};
  }
  return json;
}

std::string gateway_text(const BoxView& view) {
  const Gateway& gateway = view.ssh.gateway;
  if (gateway.kind == GatewayKind::kNone) {
    return {};
  }
  const std::string where = host_and_port(gateway.host, gateway.port);
  std::string text =
      gateway.kind == GatewayKind::kJump
          ? "gateway    jump host " + gateway.user + "@" + where + "\n"
          : "gateway    sshpiper " + where + ", Pipe in namespace " + gateway.ns + "\n";
  for (const std::string& warning : gateway_warnings(gateway)) {
    text += "WARNING    " + warning + "\n";
  }
  const auto lines = jump_key_lines(view);
  if (!lines.empty()) {
    text += "for the jump host's ~" + gateway.user + "/.ssh/authorized_keys:\n";
    for (const std::string& line : lines) {
      text += "  " + line + "\n";
    }
    text +=
        "and for its sshd_config, without which these keys can make sockets in its file system:\n";
    std::string config = jump_host_config(gateway);
    for (std::size_t from = 0; from < config.size();) {
      const std::size_t end = config.find('\n', from) + 1;
      text += "  " + config.substr(from, end - from);
      from = end;
    }
  }
  return text;
}

OrderedJson ssh_json(const BoxView& view) {
  OrderedJson ssh;
  ssh["host"] = login_host(view.ssh);
  ssh["port"] = login_port(view.ssh);
  ssh["user"] = login_user(view.ssh);
  ssh["identity_file"] = path_or_null(view.ssh.identity_file);
  ssh["known_hosts_file"] = login_known_hosts(view.ssh);
  const Gateway& gateway = view.ssh.gateway;
  ssh["host_key_fingerprint"] = fingerprint_json(
      gateway.kind == GatewayKind::kSshpiper ? gateway.host_key : view.record.host_key);
  ssh["command"] = ssh_command(view.ssh);
  return ssh;
}

std::string padded(std::string text, std::size_t width) {
  text.append(std::max(width, text.size() + 1) - text.size(), ' ');
  return text;
}

std::string list_line(const BoxView& view) {
  return padded(view.record.name.text(), 24) + padded(std::string(text_of(view.state)), 12) +
         view.ssh.host + ":" + std::to_string(view.ssh.port) +
         (view.record.spec.isolation == Isolation::kNone ? "  NO ISOLATION" : "") + "\n";
}

bool in_cluster(const BoxView& view) { return view.backend == "kubernetes"; }

std::string lines_of(const char* what, const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& words : all) {
    text.append(what).append(words).append("\n");
  }
  return text;
}

// Before its port and host key are decided a box has no address to print.
bool has_address(const BoxView& view) {
  return view.record.port != 0 && !view.record.host_key.empty();
}

// Nothing for an agent's, which goes without saying.
std::string role_words(const NamedKey& entry) {
  return entry.role == Role::kAgent ? "" : " (" + std::string(role_name(entry.role)) + ")";
}

}  // namespace

std::string_view text_of(State state) {
  switch (state) {
    case State::kRunning:
      return "running";
    case State::kSuspended:
      return "suspended";
    case State::kStopped:
      return "stopped";
    case State::kPending:
      return "pending";
    case State::kFailed:
      return "failed";
  }
  return "failed";
}

std::string_view isolation_warning() {
  return "no isolation: code in this box can do all that its user can, the operator's files and "
         "this box's own door included";
}

OrderedJson box_json(const BoxView& view) {
  OrderedJson json;
  json["name"] = view.record.name.text();
  json["backend"] = view.backend;
  json["state"] = text_of(view.state);
  if (!view.reason.empty()) {
    json["reason"] = view.reason;
  }
  json["keys"] = OrderedJson::array();
  for (const NamedKey& entry : view.record.keys) {
    OrderedJson key;
    key["fingerprint"] = entry.key.fingerprint();
    key["label"] = entry.label;
    key["role"] = role_name(entry.role);
    json["keys"].push_back(std::move(key));
  }
  json["generation"] = view.record.generation;
  if (in_cluster(view)) {
    json["namespace"] = view.ns;
    json["egress"] = view.egress;
    if (!view.pool.empty()) {
      json["pool"] = view.pool;
      json["sandbox"] = view.sandbox;
    }
    json["checked"] = view.checked;
    json["not_checked"] = view.not_checked;
    json["gateway"] = has_address(view) ? gateway_json(view) : OrderedJson(nullptr);
  }
  json["isolation"] = in_cluster(view) ? "pod" : text_of(view.record.spec.isolation);
  json["workspace"] = view.workspace;
  if (has_address(view)) {
    json["ssh"] = ssh_json(view);
    json["mcpServers"] = mcp_servers(view.ssh);
  } else {
    json["ssh"] = nullptr;
    json["mcpServers"] = OrderedJson::object();
  }
  json["warnings"] = OrderedJson::array();
  if (view.record.spec.isolation == Isolation::kNone) {
    json["warnings"].push_back(isolation_warning());
  }
  for (const std::string& warning : gateway_warnings(view.ssh.gateway)) {
    json["warnings"].push_back(warning);
  }
  return json;
}

std::string box_text(const BoxView& view) {
  std::string text = "box        " + view.record.name.text() + "\nstate      " +
                     std::string(text_of(view.state)) +
                     (view.reason.empty() ? "" : " (" + view.reason + ")") + "\n";
  if (view.record.spec.isolation == Isolation::kNone) {
    text += "WARNING    " + std::string(isolation_warning()) + "\n";
  }
  text += in_cluster(view) ? "namespace  " + view.ns + "\negress     " + view.egress + "\n" : "";
  text +=
      view.pool.empty() ? "" : "pool       " + view.pool + "\nsandbox    " + view.sandbox + "\n";
  text += "workspace  " + view.workspace + "\n";
  for (const NamedKey& entry : view.record.keys) {
    text += "key        " + entry.key.fingerprint() + " " + entry.label + role_words(entry) + "\n";
  }
  if (has_address(view)) {
    text += "address    " + login_host(view.ssh) + " port " + std::to_string(login_port(view.ssh)) +
            "\n";
    if (const auto key = PublicKey::parse(view.record.host_key); key.ok()) {
      text += "host key   " + key->fingerprint() + "\n";
    }
    text += "ssh        " + shell_line(ssh_command(view.ssh)) + "\n" + gateway_text(view);
  }
  text += lines_of("checked    ", view.checked) + lines_of("UNCHECKED  ", view.not_checked);
  return text;
}

std::vector<std::string> jump_key_lines(const BoxView& view) {
  std::vector<std::string> lines;
  if (view.ssh.gateway.kind == GatewayKind::kJump && has_address(view)) {
    for (const NamedKey& entry : view.record.keys) {
      lines.push_back(jump_key_line(host_and_port(view.ssh.host, view.ssh.port), entry.key.text(),
                                    entry.label));
    }
  }
  return lines;
}

Report box_report(const BoxView& view) { return Report{box_json(view), box_text(view), Exit::kOk}; }

Report status_report(const BoxView& view) {
  Report report = box_report(view);
  report.json["audit_head"] = nullptr;
  std::string known = "unknown: " + view.no_audit_head;
  if (view.audit_head) {
    const AuditHead& head = *view.audit_head;
    report.json["audit_head"] = {{"seq", head.sequence}, {"hash", head.hash}};
    known = std::to_string(head.sequence) + ":" + head.hash;
  }
  report.text += "audit head " + known + "\n";
  return report;
}

Report done_report(const BoxView& view, std::string_view did) {
  Report report = box_report(view);
  std::string text =
      "box " + view.record.name.text() + " " + std::string(did) + "\n\n" + report.text;
  if (has_address(view) && view.state == State::kRunning) {
    text += "\nConnect Claude Code:\n  " + render_handoff(view.ssh, Format::kClaude) +
            (view.ssh.identity_file.empty() ? std::string(identity_hint(view.ssh)) + "\n" : "") +
            "Others: agentbox-provision handoff " + view.record.name.text() + " --format FORMAT\n";
  }
  report.text = std::move(text);
  return report;
}

namespace {

OrderedJson fingerprints_json(const std::vector<NamedKey>& keys) {
  OrderedJson list = OrderedJson::array();
  for (const NamedKey& entry : keys) {
    list.push_back(entry.key.fingerprint());
  }
  return list;
}

std::string keys_lines(const char* what, const std::vector<NamedKey>& keys) {
  std::string text;
  for (const NamedKey& entry : keys) {
    text.append(what).append(entry.key.fingerprint()).append(" ").append(entry.label).append("\n");
  }
  return text;
}

// What both say of a change of keys, after the box itself.
Report keys_report(const KeysDone& done) {
  Report report = box_report(done.view);
  report.json["changed"] = done.changed;
  report.json["added"] = fingerprints_json(done.added);
  report.json["gone"] = fingerprints_json(done.gone);
  for (const std::string& print : done.gone_prints) {
    report.json["gone"].push_back(print);
  }
  // In a cluster the door ends them as well, and nobody counts them here.
  const bool counted = done.sessions_ended.has_value() && !in_cluster(done.view);
  report.json["sessions_ended"] =
      counted ? OrderedJson(*done.sessions_ended) : OrderedJson(nullptr);
  report.json["proven"] = done.proven;
  report.json["proofs"] = done.proofs;
  report.text = keys_lines("added      ", done.added) + keys_lines("gone       ", done.gone);
  for (const std::string& print : done.gone_prints) {
    report.text += "gone       " + print + "\n";
  }
  for (const std::string& proof : done.proofs) {
    report.text += "proven     " + proof + "\n";
  }
  if (!done.proven) {
    report.text += done.view.not_checked.empty()
                       ? "NOT PROVEN the box does not run; resume proves it\n"
                       : "NOT PROVEN over SSH; the result says why\n";
  }
  report.text += counted ? "sessions   " + std::to_string(*done.sessions_ended) + " ended\n"
                         : "sessions   not counted; the door ends those of what is locked out\n";
  return report;
}

void add_eviction(const KeysDone& done, Report& report) {
  report.json["evicted"] = done.evicted;
  report.text += done.evicted
                     ? "evicted    yes: everything that ran in the box ended, and its host key is "
                       "new; hand known_hosts out again\n"
                     : "evicted    no: what was changed in the box is still there; revoke "
                       "--evict replaces the running box and its host key\n";
}

}  // namespace

Report rotated_report(const KeysDone& done) {
  Report report = keys_report(done);
  const std::string& file = done.view.record.identity_file;
  report.text = "box " + done.view.record.name.text() +
                (done.changed ? " has new keys\n\n" : " has these keys already\n\n") + report.text +
                (file.empty() ? "" : "private    " + file + "\n");
  return report;
}

Report revoked_report(const KeysDone& done) {
  Report report = keys_report(done);
  const bool already = done.gone.empty() && done.gone_prints.empty();
  report.text = "box " + done.view.record.name.text() +
                (already ? " had that key revoked already\n\n" : " has that key revoked\n\n") +
                report.text;
  add_eviction(done, report);
  if (done.view.record.keys.empty() && done.view.record.spec.authorities.empty()) {
    report.text += "WARNING    that was the last key: nobody can enter; rotate makes a new one\n";
    report.json["warnings"].push_back("that was the last key: nobody can enter");
  }
  return report;
}

Report revoked_serial_report(const KeysDone& done, std::uint64_t serial) {
  Report report = keys_report(done);
  report.json["serial"] = std::to_string(serial);
  report.text = "box " + done.view.record.name.text() +
                (done.changed ? " has certificate " : " had certificate ") +
                std::to_string(serial) + (done.changed ? " revoked\n\n" : " revoked already\n\n") +
                report.text;
  add_eviction(done, report);
  return report;
}

Report trusted_report(const KeysDone& done) {
  Report report = keys_report(done);
  report.json["authorities"] = fingerprints_json(done.view.record.spec.authorities);
  report.text = "box " + done.view.record.name.text() +
                (done.changed ? " takes certificates of this CA\n\n"
                              : " takes certificates of this CA already\n\n") +
                report.text;
  return report;
}

Report list_report(const std::vector<BoxView>& views) {
  Report report;
  report.json["boxes"] = OrderedJson::array();
  for (const BoxView& view : views) {
    report.json["boxes"].push_back(box_json(view));
    report.text.append(list_line(view));
  }
  if (views.empty()) {
    report.text = "no boxes; make one: agentbox-provision create NAME\n";
  }
  return report;
}

std::string advice_for(const std::string& name, std::string_view next) {
  constexpr std::string_view kWord = "NAME";
  const auto is_part = [](char c) { return (c >= 'A' && c <= 'Z') || c == '_' || c == '='; };
  std::string text;
  for (std::size_t i = 0; i < next.size(); ++i) {
    const bool begins = next.substr(i).starts_with(kWord) && (i == 0 || !is_part(next[i - 1]));
    const std::size_t end = i + kWord.size();
    if (begins && (end >= next.size() || !is_part(next[end]))) {
      text += name;
      i = end - 1;
    } else {
      text += next[i];
    }
  }
  return text;
}

Report checks_report(const std::string& name, const std::vector<CheckDone>& checks,
                     std::string_view proven, std::string_view not_proven) {
  const bool passed = std::none_of(checks.begin(), checks.end(), [](const CheckDone& check) {
    return check.outcome == CheckOutcome::kFailed;
  });
  Report report;
  report.json["name"] = name;
  report.json["ok"] = passed;
  report.json["checks"] = OrderedJson::array();
  for (const CheckDone& check : checks) {
    const CheckFacts& facts = facts_of(check.id);
    const bool failed = check.outcome == CheckOutcome::kFailed;
    OrderedJson json;
    json["name"] = facts.title;
    json["ok"] = !failed;
    json["skipped"] = check.outcome == CheckOutcome::kSkipped;
    json["detail"] = check.detail;
    if (failed) {
      json["next"] = advice_for(name, facts.next);
    }
    report.json["checks"].push_back(std::move(json));
    report.text.append(mark_of(check.outcome)).append(facts.title);
    report.text.append(check.detail.empty() ? "" : ": ").append(check.detail).append("\n");
    if (failed) {
      report.text.append("        next: ").append(advice_for(name, facts.next)).append("\n");
    }
  }
  report.text.append("box ").append(name).append(" ").append(passed ? proven : not_proven);
  report.text.append("\n");
  report.exit = passed ? Exit::kOk : Exit::kCheckFailed;
  return report;
}

std::string rendered(const Report& report, Output output) {
  return output == Output::kJson ? dump_json(report.json, 2) + "\n" : report.text;
}

std::string rendered(const Failure& failure, Output output) {
  if (output == Output::kText) {
    return "agentbox-provision: " + failure.message + "\n  next: " + failure.next + "\n";
  }
  OrderedJson error;
  error["code"] = code_of(failure.exit);
  error["message"] = failure.message;
  error["next"] = failure.next;
  OrderedJson json;
  json["error"] = std::move(error);
  return dump_json(json, 2) + "\n";
}

}  // namespace agentbox::provision
