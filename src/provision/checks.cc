// pure: see checks.h.
#include "provision/checks.h"

#include <array>

namespace agentbox::provision {
namespace {

constexpr std::string_view kSeeLogs = "see `agentbox-provision logs NAME`";
constexpr std::string_view kResumeIt = "run `agentbox-provision resume NAME`";
constexpr std::string_view kNoPolicy =
    "does the cluster's network plugin enforce NetworkPolicy at all? Else find the policy that "
    "lets the pod out: kubectl get networkpolicy";
constexpr std::string_view kSeeDoctor = "run `agentbox-provision doctor NAME`";

constexpr std::array<CheckFacts, 45> kChecks = {{
    {CheckId::kCreate, Suite::kVerify, "create", kSeeLogs},
    {CheckId::kKeys, Suite::kAll, "keys",
     "run `agentbox-provision rotate NAME`, or put the private key back where it was"},
    {CheckId::kSession1Opens, Suite::kVerify, "session 1 opens", kSeeDoctor},
    {CheckId::kListEmpty, Suite::kVerify, "list_blobs is empty", "look into the workspace"},
    {CheckId::kListAnswers, Suite::kVerify, "list_blobs answers", kSeeLogs},
    {CheckId::kWriteBlob, Suite::kVerify, "write_random_blob",
     "see whether the workspace can be written and the disk is full"},
    {CheckId::kSession1Ends, Suite::kVerify, "session 1 ends", kSeeLogs},
    {CheckId::kSuspend, Suite::kVerify, "suspend", kSeeLogs},
    {CheckId::kResume, Suite::kVerify, "resume", kSeeDoctor},
    {CheckId::kSession2Opens, Suite::kVerify, "session 2 opens", kSeeDoctor},
    {CheckId::kReadBlob, Suite::kVerify, "read_blob has the same sha256",
     "do not trust the disk that the box lies on"},
    {CheckId::kPull, Suite::kVerify, "pulled over SSH and hashed here",
     "do not trust what comes over this connection"},
    {CheckId::kBlobRemoved, Suite::kVerify, "its own blob is removed",
     "remove the file agentbox-verify-*.bin from the workspace"},
    {CheckId::kSession2Ends, Suite::kVerify, "session 2 ends", kSeeLogs},
    {CheckId::kDelete, Suite::kVerify, "delete", "run `agentbox-provision delete NAME` again"},
    {CheckId::kApiHidden, Suite::kInCluster, "the cluster's API cannot be reached from inside",
     kNoPolicy},
    {CheckId::kMetadataHidden, Suite::kInCluster,
     "the cloud's metadata cannot be reached from inside", kNoPolicy},
    {CheckId::kKubeletHidden, Suite::kInCluster, "the kubelet cannot be reached from inside",
     kNoPolicy},
    {CheckId::kOtherBoxHidden, Suite::kInCluster, "another box cannot be reached from inside",
     kNoPolicy},
    {CheckId::kPrograms, Suite::kDoctor, "programs",
     "build all programs (scripts/build), or name their folder with --programs"},
    {CheckId::kUsers, Suite::kDoctor, "users", "run scripts/quickstart, which makes them"},
    {CheckId::kIsolation, Suite::kDoctor, "isolation",
     "do what the message says; no box can be started until then"},
    {CheckId::kStateModes, Suite::kDoctor, "state folder is closed to others",
     "give what is named back to its owner, with the mode that is named"},
    {CheckId::kWritten, Suite::kDoctor, "the door's files are what was written",
     "find out who changed it; suspend and resume the box: that writes it anew"},
    {CheckId::kDisk, Suite::kDoctor, "disk",
     "make room: a full disk stops the audit, and with it every session"},
    {CheckId::kSupervisor, Suite::kDoctor, "both sides run", kResumeIt},
    {CheckId::kDoor, Suite::kDoctor, "the door answers with the pinned host key",
     "see what listens on the port (ss -ltnp) and `agentbox-provision logs NAME`"},
    {CheckId::kPin, Suite::kDoctor, "known_hosts holds the pin and nothing else",
     "suspend and resume the box: that writes it anew"},
    {CheckId::kGone, Suite::kDoctors, "keys that are gone are refused",
     "run the rotate or revoke again that took them away"},
    {CheckId::kLogin, Suite::kDoctors, "a session opens and its tools answer", kSeeLogs},
    {CheckId::kClock, Suite::kDoctors, "clocks agree", "set the clock: keys expire by it"},
    {CheckId::kWall, Suite::kDoctor, "the box sees nothing of the operator's",
     "where it sees something: suspend the box, its wall does not hold"},
    {CheckId::kAudit, Suite::kDoctor, "the audit log is whole",
     "find out who changed it: `agentbox-provision audit-log verify --box NAME` shows where"},
    {CheckId::kClusterApi, Suite::kClusterDoctor, "the cluster answers",
     "is the kubeconfig this cluster's, and its credential still valid?"},
    {CheckId::kClusterRights, Suite::kClusterDoctor, "we may look at the box",
     "give this account what `agentbox-provision rbac doctor` prints"},
    {CheckId::kClusterServes, Suite::kClusterDoctor, "the cluster serves Sandboxes",
     "install agent-sandbox v0.5 or later"},
    {CheckId::kController, Suite::kClusterDoctor, "the controller acts on the Sandbox",
     "look at the agent-sandbox controller's own pod and log, and at kubectl describe sandbox "
     "NAME"},
    {CheckId::kPolicy, Suite::kClusterDoctor,
     "the network policy selects the pod and lets the door's port in",
     "run the create again that made the box: it puts the policy back"},
    {CheckId::kImages, Suite::kClusterDoctor, "the images are there",
     "bring the image to where the cluster pulls from, or create the box with another one"},
    {CheckId::kPod, Suite::kClusterDoctor, "the pod runs",
     "kubectl describe pod NAME says more; suspend and resume make a new one"},
    {CheckId::kPodAsAsked, Suite::kClusterDoctor, "the pod is what was asked for",
     "find out which admission webhook changes pods; suspend the box until then"},
    {CheckId::kPodKeys, Suite::kClusterDoctor, "the pod has the newest keys",
     "look at the agent-sandbox controller; suspend and resume bring the keys too"},
    {CheckId::kHostKeyPin, Suite::kClusterDoctor, "the host key is the one that is pinned here",
     "ask who made the box anew, or evicted it; only then forget the pin"},
    {CheckId::kClusterDoor, Suite::kClusterDoctor, "the door answers with the pinned host key",
     "from outside the cluster add --port-forward; else see the checks above and "
     "`agentbox-provision logs NAME`"},
    {CheckId::kClusterGateway, Suite::kClusterDoctor, "the gateway takes the box's keys",
     "see what it names; `agentbox-provision status NAME` prints what a jump host needs, "
     "rotate writes a Pipe anew"},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kChecks.size(); ++i) {
    if (static_cast<std::size_t>(kChecks[i].id) != i) {
      return false;
    }
  }
  return true;
}
static_assert(in_order());

}  // namespace

std::span<const CheckFacts> all_checks() { return kChecks; }

const CheckFacts& facts_of(CheckId id) { return kChecks[static_cast<std::size_t>(id)]; }

std::vector<CheckId> checks_of(Suite suite) {
  std::vector<CheckId> ids;
  for (const CheckFacts& facts : kChecks) {
    if ((static_cast<unsigned>(facts.suite) & static_cast<unsigned>(suite)) != 0) {
      ids.push_back(facts.id);
    }
  }
  return ids;
}

std::string_view mark_of(CheckOutcome outcome) {
  switch (outcome) {
    case CheckOutcome::kPassed:
      return "ok      ";
    case CheckOutcome::kFailed:
      return "FAILED  ";
    case CheckOutcome::kSkipped:
      return "skipped ";
  }
  return "";
}

}  // namespace agentbox::provision
