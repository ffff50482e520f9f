// pure: tests of provision/kube/pod_facts: what is wrong with a pod or its policy, in words.
#include "provision/kube/pod_facts.h"

#include "provision/kube/manifests.h"
#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::provision;
using namespace agentbox::provision::kube;

namespace {

Json waiting(const char* reason, const char* message) {
  return Json{{"name", "box"},
              {"image", "tools:2"},
              {"restartCount", 0},
              {"state", {{"waiting", {{"reason", reason}, {"message", message}}}}}};
}

Json pod(const Json& statuses) {
  return Json{{"spec", {{"nodeName", "n1"}}},
              {"status", {{"phase", "Running"}, {"containerStatuses", statuses}}}};
}

}  // namespace

TEST_CASE("pod facts: a missing image is told from everything else a container waits for") {
  const Json missing = pod(Json::array({waiting("ErrImagePull", "no such\x1b host")}));
  CHECK(image_problem(missing) == "container box: ErrImagePull: no such\\x1b host (tools:2)");
  CHECK(image_problem(pod(Json::array({waiting("CrashLoopBackOff", "")}))).empty());
  CHECK(pod_problem(pod(Json::array({waiting("CrashLoopBackOff", "back-off")}))) ==
        "container box: CrashLoopBackOff: back-off");
  CHECK(pod_problem(pod(Json::array({waiting("ContainerCreating", "")}))).empty());
  CHECK(image_problem(Json()).empty());
  CHECK_FALSE(pod_problem(Json()).empty());
  CHECK_FALSE(pod_problem(Json{{"status", {{"phase", 7}, {"conditions", "x"}}}}).empty());
}

TEST_CASE("pod facts: an unschedulable pod and one that keeps ending are ill") {
  const Json pending{{"status",
                      {{"phase", "Pending"},
                       {"conditions", Json::array({{{"type", "PodScheduled"},
                                                    {"status", "False"},
                                                    {"reason", "Unschedulable"},
                                                    {"message", "0/3 nodes"}}})}}}};
  CHECK(pod_problem(pending) == "PodScheduled is False: Unschedulable: 0/3 nodes");
  const Json often =
      pod(Json::array({{{"name", "door"},
                        {"restartCount", 9},
                        {"lastState", {{"terminated", {{"reason", "OOMKilled"}}}}}}}));
  CHECK(pod_problem(often).find("again 9 times, last after OOMKilled") != std::string::npos);
  CHECK(pod_words(often) == "on node n1, 9 restarts");
}

TEST_CASE("pod facts: the policy that we render fits the pod that we render, and others do not") {
  const BoxName name = BoxName::parse("demo").value();
  const Json policy = Json::parse(dump_json(network_policy(name, "boxes", {})));
  const Json box = Json::parse(dump_json(sandbox(name, "boxes", {}, "x")));
  const Json labels = box["spec"]["podTemplate"]["metadata"]["labels"];
  CHECK(policy_problem(policy, labels).empty());
  CHECK(policy_problem(policy, Json::object()).find("no such label") != std::string::npos);
  Json changed = policy;
  changed["spec"]["policyTypes"] = Json::array({"Ingress"});
  CHECK_FALSE(policy_problem(changed, labels).empty());
  changed = policy;
  changed["spec"]["ingress"] = Json::array();
  CHECK(policy_problem(changed, labels) == "it lets nothing in on port 2222");
  changed = policy;
  changed["spec"]["ingress"][0]["ports"][0]["protocol"] = "UDP";
  CHECK_FALSE(policy_problem(changed, labels).empty());
  changed = policy;
  changed["spec"]["podSelector"]["matchExpressions"] = Json::array();
  CHECK_FALSE(policy_problem(changed, labels).empty());
  CHECK_FALSE(policy_problem(Json(), labels).empty());
}
