// edge: see preflight.h.
#include "provision/kube/preflight.h"

#include <algorithm>

#include "base/random.h"
#include "base/text.h"
#include "provision/kube/access_review.h"
#include "provision/kube/manifests.h"
#include "provision/kube/rbac.h"
#include "provision/kube/sandbox_facts.h"

namespace agentbox::provision::kube {
namespace {

struct Check {
  std::string name;
  bool passed = false;
  std::string detail;
  bool needed = true;  ///< false: boxes can be made without it
};

// The result of one question, as a line of the report.
Check passed_or(const std::string& name, const std::string& problem, const std::string& detail) {
  return Check{name, problem.empty(), problem.empty() ? detail : problem};
}

Check check_served(Client& client) {
  const std::string name = "the cluster serves Sandboxes";
  auto group = client.get("/apis/agents.x-k8s.io");
  const std::string problem = group.ok() ? unsupported(*group) : group.error().message;
  return passed_or(name, problem, "agents.x-k8s.io/v1beta1");
}

// Warm pools are an extension of the controller's, and boxes need none.
Check check_pools(Client& client) {
  Check check{"the cluster takes warm pools (for create --from-pool)", false, "by a dry run",
              false};
  const auto problem_of = [&]() -> std::string {
    constexpr const char* kGroup = "extensions.agents.x-k8s.io";
    auto group = client.get(std::string("/apis/") + kGroup);
    const std::string problem = group.ok() ? unsupported(*group, kGroup) : group.error().message;
    const auto name = BoxName::parse("preflight-" + random_hex(4));
    if (!problem.empty() || !name.ok()) {
      return problem.empty() ? name.error().what : problem;
    }
    auto made =
        client.apply(kTemplates, sandbox_template(*name, client.ns(), {}), kBaseManager, true);
    if (!made.ok()) {
      return made.error().message;
    }
    auto box =
        client.apply(kSandboxes, sandbox_of_template(*name, client.ns(), {}), kBaseManager, true);
    return box.ok() ? "" : box.error().message;
  };
  const std::string problem = problem_of();
  check.passed = problem.empty();
  check.detail = check.passed ? check.detail : problem;
  return check;
}

Answer<Check> check_rights(Client& client, const std::vector<std::string>& commands) {
  AB_TRY(rights, rights_of(commands));
  AB_TRY(missing, missing_rights(client, rights));
  std::size_t asked = 0;
  for (const auto& [what, verbs] : rights) {
    asked += verbs.size();
  }
  return passed_or("we may create, suspend, resume and delete boxes in namespace " + client.ns(),
                   missing.empty() ? "" : "not allowed: " + missing,
                   std::to_string(asked) + " rights");
}

// Not every operator is to have every right: what is missing is said, and is no failure.
Answer<Check> look_at_other_commands(Client& client) {
  std::string without;
  for (const std::string_view command : commands_with_rights()) {
    AB_TRY(rights, rights_of({std::string(command)}));
    AB_TRY(missing, missing_rights(client, rights));
    if (!missing.empty()) {
      without.append(without.empty() ? "" : "; ").append(command).append(" (").append(missing);
      without += ")";
    }
  }
  return Check{"every command may be used", without.empty(),
               without.empty() ? "" : "not allowed: " + without, false};
}

Check check_dry_run(Client& client) {
  const std::string name = "the cluster's policies take a box";
  const auto box = BoxName::parse("preflight-" + random_hex(4));
  if (!box.ok()) {
    return passed_or(name, box.error().what, "");
  }
  auto policy =
      client.apply(kNetworkPolicies, network_policy(*box, client.ns(), {}), kBaseManager, true);
  if (!policy.ok()) {
    return passed_or(name, policy.error().message, "");
  }
  auto done =
      client.apply(kSandboxes, sandbox(*box, client.ns(), {}, "preflight"), kBaseManager, true);
  return passed_or(name, done.ok() ? "" : done.error().message, "by a dry run");
}

}  // namespace

Answer<Report> preflight(Client& client) {
  AB_TRY(version, client.get("/version"));
  const std::string* number = find_string(version, "gitVersion");
  std::vector<Check> checks = {
      passed_or("the cluster answers", "",
                client.server() + ", " + escape_text(number == nullptr ? "?" : *number, 60))};
  checks.push_back(check_served(client));
  AB_TRY(rights, check_rights(client, {"create", "suspend", "resume", "delete"}));
  checks.push_back(std::move(rights));
  AB_TRY(others, look_at_other_commands(client));
  checks.push_back(std::move(others));
  if (checks[1].passed) {
    checks.push_back(check_dry_run(client));
    checks.push_back(check_pools(client));
  }
  Report report;
  const bool passed = std::all_of(checks.begin(), checks.end(),
                                  [](const Check& check) { return check.passed || !check.needed; });
  report.json["ok"] = passed;
  report.json["checks"] = OrderedJson::array();
  for (const Check& check : checks) {
    report.json["checks"].push_back({{"name", check.name},
                                     {"ok", check.passed},
                                     {"needed", check.needed},
                                     {"detail", check.detail}});
    const char* mark = check.passed ? "ok      " : check.needed ? "FAILED  " : "no      ";
    report.text += mark + check.name + ": " + check.detail + "\n";
  }
  report.text += passed ? "this cluster can have boxes\n" : "this cluster cannot have boxes yet\n";
  report.exit = passed ? Exit::kOk : Exit::kCheckFailed;
  return report;
}

}  // namespace agentbox::provision::kube
