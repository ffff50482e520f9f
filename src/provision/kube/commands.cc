// edge: see commands.h.
#include "provision/kube/commands.h"

#include <variant>

#include "provision/backend_commands.h"
#include "provision/kube/backend.h"
#include "provision/kube/doctor.h"
#include "provision/kube/gc.h"
#include "provision/kube/guard.h"
#include "provision/kube/manifests.h"
#include "provision/kube/namespace_audit.h"
#include "provision/kube/pipe.h"
#include "provision/kube/pool_commands.h"
#include "provision/kube/preflight.h"
#include "provision/kube/rbac.h"
#include "provision/kube/yaml_text.h"

namespace agentbox::provision::kube {
namespace {

class ClusterCommands : public BackendCommands {
 public:
  explicit ClusterCommands(const KubeBackend& backend)
      : BackendCommands(backend), backend_(backend) {}
  using BackendCommands::operator();

  Answer<Report> operator()(const Doctor& command) const { return doctor(backend_, command.name); }

  template <typename Other>
  Answer<Report> operator()(const Other&) const {
    return Failure{Exit::kUsage,
                   "this command is for boxes on this machine; it does not know clusters yet",
                   "in a cluster there are create, status, list, handoff, verify, call, pull, "
                   "push, logs, doctor, audit, "
                   "suspend, resume, rotate, revoke, ca trust, delete, gc, template, pool, "
                   "preflight, render and rbac"};
  }

 private:
  const KubeBackend& backend_;
};

std::string namespace_or_default(const std::string& ns) { return ns.empty() ? "default" : ns; }

Report shown(const std::vector<OrderedJson>& objects) {
  Report report;
  report.json["apiVersion"] = "v1";
  report.json["kind"] = "List";
  report.json["items"] = objects;
  for (const OrderedJson& object : objects) {
    report.text += "---\n" + yaml_text(object);
  }
  return report;
}

}  // namespace

Answer<Report> run_in_cluster(const Invocation& invocation, const Store& state) {
  if (std::holds_alternative<Preflight>(invocation.command)) {
    AB_TRY(client, Client::open(*invocation.cluster));
    return preflight(client);
  }
  if (const auto* audit = std::get_if<Audit>(&invocation.command)) {
    AB_TRY(client, Client::open(*invocation.cluster));
    return audit_namespace(client, *audit);
  }
  const auto* of_templates = std::get_if<TemplateCommand>(&invocation.command);
  const auto* of_pools = std::get_if<PoolCommand>(&invocation.command);
  if (of_templates != nullptr || of_pools != nullptr) {
    AB_TRY(client, Client::open(*invocation.cluster));
    return of_pools != nullptr ? run_pool_command(client, *of_pools)
                               : run_template_command(client, *of_templates);
  }
  if (const auto* wanted = std::get_if<Gc>(&invocation.command)) {
    AB_TRY(client, Client::open(*invocation.cluster));
    return collect_garbage(client, *wanted);
  }
  AB_TRY(backend, KubeBackend::open(*invocation.cluster, state));
  return std::visit(ClusterCommands(*backend), invocation.command);
}

Answer<Report> render(const Render& command, const std::string& ns) {
  AB_TRY(wanted, read_wanted_box(command.options));
  if (auto good = check_spec(wanted.cluster); !good.ok()) {
    return Failure{Exit::kUsage, std::move(good).error().what,
                   "config/provision.example.yaml shows every key of the file"};
  }
  const std::string where = namespace_or_default(ns);
  if (const std::string& pool = command.options.pool; !pool.empty()) {
    OrderedJson claim = sandbox_claim(command.name, where, pool, "");
    AB_TRY(keys, keys_part(in_claim(command.name.text()), where,
                           {wanted.keys, {}, 1, wanted.spec.authorities}));
    claim.merge_patch(keys);
    return shown({claim});
  }
  AB_TRY(objects, objects_of(command.name, where, wanted.cluster, wanted));
  return shown(objects);
}

std::optional<Answer<Report>> render_pools(const Command& command, const std::string& ns) {
  const std::string where = namespace_or_default(ns);
  if (const auto* given = std::get_if<TemplateCommand>(&command);
      given != nullptr && given->action == PoolAction::kRender) {
    const auto spec = template_spec(given->options);
    return spec.ok() ? Answer<Report>(shown({sandbox_template(*given->name, where, *spec)}))
                     : Answer<Report>(spec.error());
  }
  if (const auto* given = std::get_if<PoolCommand>(&command);
      given != nullptr && given->action == PoolAction::kRender) {
    return Answer<Report>(
        shown({warm_pool(*given->name, where, *given->from_template, given->replicas)}));
  }
  return std::nullopt;
}

Answer<Report> render_guard(const RenderGuard& command) {
  const std::string next = "write NAMESPACE:NAME for a service account, or a user's name";
  std::vector<std::string> accounts;
  for (const std::string& text : command.accounts) {
    auto account = parse_account(text);
    if (!account.ok()) {
      return Failure{Exit::kUsage, account.error().what, next};
    }
    accounts.push_back(std::move(account).value());
  }
  auto controller = parse_account(command.controller);
  if (!controller.ok()) {
    return Failure{Exit::kUsage, controller.error().what, next};
  }
  return shown(guard(accounts, *controller));
}

Answer<Report> show_role(const ShowRole& command, const std::string& ns) {
  if (!command.boxes.empty()) {
    Report report;
    report.json = gateway_role(command.boxes, namespace_or_default(ns));
    report.text = yaml_text(report.json);
    return report;
  }
  auto rights = rights_of(command.commands);
  if (!rights.ok()) {
    std::string all;
    for (const std::string_view name : commands_with_rights()) {
      all.append(all.empty() ? "" : ", ").append(name);
    }
    return Failure{Exit::kUsage, rights.error().what, "there are " + all};
  }
  Report report;
  report.json = role(*rights, namespace_or_default(ns));
  report.text = yaml_text(report.json);
  return report;
}

}  // namespace agentbox::provision::kube
