// edge: see access_review.h.
#include "provision/kube/access_review.h"

#include <algorithm>

namespace agentbox::provision::kube {

Answer<std::string> missing_rights(Client& client, const Rights& rights) {
  std::string missing;
  for (const auto& [what, verbs] : rights) {
    const auto slash = std::min(what.second.find('/'), what.second.size());
    for (const std::string& verb : verbs) {
      OrderedJson review;
      review["apiVersion"] = kAccessReviews.group_version;
      review["kind"] = kAccessReviews.kind;
      OrderedJson& asked = review["spec"]["resourceAttributes"];
      asked = {{"namespace", client.ns()},
               {"verb", verb},
               {"group", what.first},
               {"resource", what.second.substr(0, slash)}};
      if (slash < what.second.size()) {
        asked["subresource"] = what.second.substr(slash + 1);
      }
      AB_TRY(answer, client.ask(kAccessReviews, review));
      const Json* allowed = find_path(answer, "status/allowed");
      if (allowed == nullptr || *allowed != Json(true)) {
        missing += (missing.empty() ? "" : ", ") + verb + " " + what.second;
      }
    }
  }
  return missing;
}

}  // namespace agentbox::provision::kube
