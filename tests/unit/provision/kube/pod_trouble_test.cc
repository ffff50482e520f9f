#include "provision/kube/pod_trouble.h"

#include "base/json.h"
#include "support/catch.h"

using agentbox::parse_json;
using agentbox::provision::kube::pod_trouble;

namespace {

std::string trouble(const std::string& status) {
  const auto pod = parse_json(R"({"metadata":{"name":"demo"},"status":)" + status + "}");
  REQUIRE(pod.ok());
  return pod_trouble(*pod).value_or("none");
}

}  // namespace

TEST_CASE("a pod that is only on its way has no trouble") {
  CHECK(trouble("{}") == "none");
  CHECK(trouble(R"({"conditions":[{"type":"PodScheduled","status":"True"}],
                    "initContainerStatuses":[{"name":"tools","state":{"running":{}}}],
                    "containerStatuses":[{"name":"door","state":{"waiting":{"reason":"PodInitializing"}}},
                                         {"name":"box","state":{"waiting":{"reason":"ContainerCreating"}}}]})") ==
        "none");
}

TEST_CASE("what keeps a pod from running is told in the cluster's words") {
  CHECK(trouble(R"({"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable",
                    "message":"0/1 nodes are available: 1 Insufficient cpu."}]})") ==
        "no node takes its pod: Unschedulable: 0/1 nodes are available: 1 Insufficient cpu.");
  CHECK(trouble(R"({"containerStatuses":[{"name":"door","state":{"running":{}}},
                    {"name":"box","state":{"waiting":{"reason":"ImagePullBackOff","message":"no such image"}}}]})") ==
        "container box: ImagePullBackOff: no such image");
  CHECK(
      trouble(
          R"({"initContainerStatuses":[{"name":"tools","state":{"waiting":{"reason":"CrashLoopBackOff"}}}]})") ==
      "container tools: CrashLoopBackOff");
}

TEST_CASE("a pod's words are escaped, and strange shapes are no trouble") {
  CHECK(
      trouble(
          R"({"containerStatuses":[{"name":"box","state":{"waiting":{"reason":"X","message":"a\u001bb"}}}]})")
          .find('\x1b') == std::string::npos);
  CHECK(trouble(R"({"containerStatuses":{"name":"box"},"conditions":"all"})") == "none");
  CHECK(trouble(R"({"containerStatuses":[7,{"state":[]},{"state":{"waiting":7}}]})") == "none");
}
