// edge: see namespace_audit.h.
#include "provision/kube/namespace_audit.h"

#include <utility>

#include "base/utc.h"
#include "provision/audit/cluster.h"
#include "provision/audit/command.h"
#include "provision/kube/backend.h"
#include "provision/state.h"

namespace agentbox::provision::kube {
namespace {

// What may not be listed is told in the report; a kind that the cluster does not have is none.
std::vector<Json> list_or_tell(Client& client, const Resource& resource,
                               std::vector<std::string>& unseen) {
  auto listed = client.list(resource, "");
  if (listed.ok()) {
    return std::move(listed).value();
  }
  if (!is_unknown_kind(listed.error())) {
    unseen.push_back(std::string(resource.plural) + ": " + listed.error().message);
  }
  return {};
}

}  // namespace

Answer<Report> audit_namespace(Client& client, const Audit& wanted) {
  if (wanted.live) {
    return Failure{Exit::kUsage, "--live is for boxes on this machine",
                   "in a cluster `agentbox-provision doctor NAME` tries a box from inside"};
  }
  audit::Paper paper = audit::new_paper();
  audit::NamespaceFacts facts;
  facts.ns = client.ns();
  const auto now = parse_time(paper.time);
  facts.now = now.ok() ? *now / 1000 : 0;
  AB_TRY(sandboxes, client.list(kSandboxes, ""));
  facts.sandboxes = std::move(sandboxes);
  facts.pods = list_or_tell(client, kPods, facts.unseen);
  facts.policies = list_or_tell(client, kNetworkPolicies, facts.unseen);
  facts.pipes = list_or_tell(client, kPipes, facts.unseen);
  for (audit::BoxPaper& box : audit::describe_namespace(facts)) {
    if (!wanted.name || box.name == wanted.name->text()) {
      paper.boxes.push_back(std::move(box));
    }
  }
  if (paper.boxes.empty()) {
    return no_such_box(*wanted.name);
  }
  return audit::tell(paper, wanted);
}

}  // namespace agentbox::provision::kube
