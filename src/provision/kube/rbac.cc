// pure: see rbac.h.
#include "provision/kube/rbac.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace agentbox::provision::kube {
namespace {

constexpr const char* kSandboxGroup = "agents.x-k8s.io";
constexpr const char* kPoolGroup = "extensions.agents.x-k8s.io";
constexpr const char* kNetworkGroup = "networking.k8s.io";

struct Line {
  std::string_view command;
  const char* group;
  const char* plural;
  const char* verbs;  ///< with spaces between
};
// A wait is a list and a watch of one object. A Secret is never read: who may patch it sees its
// metadata in the answer, and that is all that is asked for.
constexpr auto kLines = std::to_array<Line>({
    {"create", kSandboxGroup, "sandboxes", "get list watch create patch"},
    {"create", kNetworkGroup, "networkpolicies", "create patch"},
    {"create", "", "secrets", "create patch"},
    {"create", "", "pods", "list watch"},
    {"status", kSandboxGroup, "sandboxes", "get"},
    {"handoff", kSandboxGroup, "sandboxes", "get"},
    {"list", kSandboxGroup, "sandboxes", "list"},
    {"suspend", kSandboxGroup, "sandboxes", "get list watch patch"},
    {"resume", kSandboxGroup, "sandboxes", "get list watch patch"},
    {"resume", "", "pods", "list watch"},
    {"rotate", kSandboxGroup, "sandboxes", "get patch"},
    {"rotate", "", "pods", "list watch"},
    {"revoke", kSandboxGroup, "sandboxes", "get patch"},
    {"revoke", "", "pods", "list watch"},
    {"ca", kSandboxGroup, "sandboxes", "get patch"},
    {"ca", "", "pods", "list watch"},
    {"delete", kSandboxGroup, "sandboxes", "get list watch delete"},
    {"delete", "", "pods", "list watch"},
    {"delete", "", "secrets", "patch delete"},
    {"delete", kNetworkGroup, "networkpolicies", "patch delete"},
    {"verify", kSandboxGroup, "sandboxes", "get list watch create patch delete"},
    {"verify", kNetworkGroup, "networkpolicies", "create patch delete"},
    {"verify", "", "secrets", "create patch delete"},
    {"verify", "", "pods", "list watch"},
    {"call", kSandboxGroup, "sandboxes", "get"},
    {"pull", kSandboxGroup, "sandboxes", "get"},
    {"push", kSandboxGroup, "sandboxes", "get"},
    {"logs", kSandboxGroup, "sandboxes", "get"},
    {"logs", "", "pods/log", "get"},
    {"audit", kSandboxGroup, "sandboxes", "list"},
    {"audit", kNetworkGroup, "networkpolicies", "list"},
    {"audit", "", "pods", "list"},
    {"audit", "sshpiper.com", "pipes", "list"},
    {"doctor", kSandboxGroup, "sandboxes", "get"},
    {"doctor", kNetworkGroup, "networkpolicies", "get"},
    {"doctor", "", "pods", "get list"},
    {"evict", kSandboxGroup, "sandboxes", "get list watch patch"},  // for revoke --evict
    {"evict", "", "secrets", "patch"},
    {"evict", "", "pods", "list watch"},
    {"gc", kSandboxGroup, "sandboxes", "list"},
    {"gc", kNetworkGroup, "networkpolicies", "list delete"},
    {"gc", "", "secrets", "patch delete"},
    {"gc", "", "pods", "list"},
    {"retain-data", "", "persistentvolumeclaims", "create patch"},  // for create --retain-data
    {"port-forward", "", "pods/portforward", "get create"},         // for --port-forward
    // In the namespace of the gateway, besides what the command needs in the box's.
    {"sshpiper", "sshpiper.com", "pipes", "get list create patch delete"},
    {"sshpiper", "", "secrets", "create patch delete"},
    {"preflight", kSandboxGroup, "sandboxes", "create patch"},
    {"preflight", kNetworkGroup, "networkpolicies", "create patch"},
    {"preflight", kPoolGroup, "sandboxtemplates", "create patch"},
    // Where there is no Sandbox of a box's name there may be a claim.
    {"create", kPoolGroup, "sandboxclaims", "get"},
    {"status", kPoolGroup, "sandboxclaims", "get"},
    {"handoff", kPoolGroup, "sandboxclaims", "get"},
    {"list", kPoolGroup, "sandboxclaims", "list"},
    {"suspend", kPoolGroup, "sandboxclaims", "get"},
    {"resume", kPoolGroup, "sandboxclaims", "get"},
    {"rotate", kPoolGroup, "sandboxclaims", "get"},
    {"revoke", kPoolGroup, "sandboxclaims", "get"},
    {"ca", kPoolGroup, "sandboxclaims", "get"},
    {"delete", kPoolGroup, "sandboxclaims", "get"},
    {"verify", kPoolGroup, "sandboxclaims", "get"},
    {"call", kPoolGroup, "sandboxclaims", "get"},
    {"pull", kPoolGroup, "sandboxclaims", "get"},
    {"push", kPoolGroup, "sandboxclaims", "get"},
    {"logs", kPoolGroup, "sandboxclaims", "get"},
    {"doctor", kPoolGroup, "sandboxclaims", "get"},
    {"evict", kPoolGroup, "sandboxclaims", "get"},
    // For boxes of pools. Whoever has no more cannot choose what a pod runs.
    {"create-from-pool", kSandboxGroup, "sandboxes", "get list watch patch"},
    {"create-from-pool", kPoolGroup, "sandboxclaims", "get list watch create patch"},
    {"create-from-pool", kPoolGroup, "sandboxwarmpools", "get"},
    {"create-from-pool", kPoolGroup, "sandboxtemplates", "get"},
    {"create-from-pool", "", "pods", "get list watch"},
    {"create-from-pool", "", "pods/log", "get"},
    {"list-from-pool", kSandboxGroup, "sandboxes", "get list"},
    {"list-from-pool", kPoolGroup, "sandboxclaims", "list"},
    {"rotate-from-pool", kSandboxGroup, "sandboxes", "get list watch patch"},
    {"rotate-from-pool", kPoolGroup, "sandboxclaims", "get patch"},
    {"rotate-from-pool", kPoolGroup, "sandboxwarmpools", "get"},
    {"rotate-from-pool", kPoolGroup, "sandboxtemplates", "get"},
    {"rotate-from-pool", "", "pods", "list watch"},
    {"revoke-from-pool", kSandboxGroup, "sandboxes", "get list watch patch"},
    {"revoke-from-pool", kPoolGroup, "sandboxclaims", "get patch"},
    {"revoke-from-pool", kPoolGroup, "sandboxwarmpools", "get"},
    {"revoke-from-pool", kPoolGroup, "sandboxtemplates", "get"},
    {"revoke-from-pool", "", "pods", "list watch"},
    {"ca-from-pool", kSandboxGroup, "sandboxes", "get list watch patch"},
    {"ca-from-pool", kPoolGroup, "sandboxclaims", "get patch"},
    {"ca-from-pool", kPoolGroup, "sandboxwarmpools", "get"},
    {"ca-from-pool", kPoolGroup, "sandboxtemplates", "get"},
    {"ca-from-pool", "", "pods", "list watch"},
    {"delete-from-pool", kSandboxGroup, "sandboxes", "get list watch"},
    {"delete-from-pool", kPoolGroup, "sandboxclaims", "get list watch delete"},
    {"delete-from-pool", "", "pods", "list watch"},
    {"template", kPoolGroup, "sandboxtemplates", "get list create patch delete"},
    {"template", kPoolGroup, "sandboxwarmpools", "list"},
    {"template", kSandboxGroup, "sandboxes", "create patch"},  // tried out, never made
    {"pool", kPoolGroup, "sandboxwarmpools", "get list create patch delete"},
    {"pool", kPoolGroup, "sandboxtemplates", "get"},
    {"pool", kPoolGroup, "sandboxclaims", "list"},
});

void add_words(std::string_view words, std::set<std::string>& out) {
  while (!words.empty()) {
    const auto end = std::min(words.find(' '), words.size());
    out.emplace(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
}

}  // namespace

std::vector<std::string_view> commands_with_rights() {
  std::vector<std::string_view> all;
  for (const Line& line : kLines) {
    if (std::find(all.begin(), all.end(), line.command) == all.end()) {
      all.push_back(line.command);
    }
  }
  return all;
}

Result<Rights> rights_of(const std::vector<std::string>& commands) {
  Rights rights;
  for (const std::string& command : commands) {
    bool known = false;
    for (const Line& line : kLines) {
      if (line.command == command) {
        known = true;
        add_words(line.verbs, rights[{line.group, line.plural}]);
      }
    }
    if (!known) {
      return Error{Code::kInvalid,
                   "no command that a cluster's rights are for: " + escape_text(command, 60)};
    }
  }
  return rights;
}

OrderedJson role(const Rights& rights, const std::string& ns) {
  OrderedJson object;
  object["apiVersion"] = "rbac.authorization.k8s.io/v1";
  object["kind"] = "Role";
  object["metadata"]["name"] = "agentbox-provision";
  object["metadata"]["namespace"] = ns;
  object["rules"] = OrderedJson::array();
  for (const auto& [what, verbs] : rights) {
    OrderedJson rule;
    rule["apiGroups"] = OrderedJson::array({what.first});
    rule["resources"] = OrderedJson::array({what.second});
    rule["verbs"] = verbs;
    object["rules"].push_back(std::move(rule));
  }
  return object;
}

}  // namespace agentbox::provision::kube
