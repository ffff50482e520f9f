// edge: see doctor.h.
#include "provision/kube/doctor.h"

#include <chrono>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/text.h"
#include "provision/check_run.h"
#include "provision/doctor.h"
#include "provision/handoff.h"
#include "provision/key_change.h"
#include "provision/key_choice.h"
#include "provision/kube/access_review.h"
#include "provision/kube/manifests.h"
#include "provision/kube/pod_facts.h"
#include "provision/kube/pool_facts.h"
#include "provision/kube/rbac.h"
#include "provision/network_trial.h"
#include "provision/proof.h"
#include "provision/tools.h"

namespace agentbox::provision::kube {
namespace {

using Outcome = CheckRun::Outcome;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kToolTime{30};

std::optional<Skip> unless(bool passed, const char* why) {
  return passed ? std::nullopt : std::optional(Skip{why});
}

class Examination {
 public:
  Examination(const KubeBackend& backend, BoxName name)
      : backend_(backend), client_(backend.client()), name_(std::move(name)) {}

  Answer<Report> run() {
    const bool answers = run_.check(CheckId::kClusterApi, [&] { return cluster(); });
    const auto mute = unless(answers, "the cluster does not answer");
    run_.check(
        CheckId::kClusterRights, [&] { return rights(); }, mute);
    const bool serves = run_.check(
        CheckId::kClusterServes, [&] { return serves_sandboxes(); }, mute);
    if (serves) {
      AB_TRY(live, client_.find(kSandboxes, name_.text()));
      if (!live || is_owned(*live, kClaims.kind, "")) {
        AB_TRY(claim, backend_.find_claim(name_));
        if (!claim) {
          return no_such_box(name_);
        }
        AB_TRY(sandbox, sandbox_of_claim(*claim));
        AB_TRY(got, sandbox.empty() ? std::optional<Json>() : client_.find(kSandboxes, sandbox));
        live = std::move(got);
        claim_ = std::move(claim);
      }
      sandbox_ = live ? std::move(*live) : Json();
    }
    const bool acts = run_.check(
        CheckId::kController, [&] { return controller(); },
        unless(serves, "there are no Sandboxes to look at"));
    run_.check(
        CheckId::kPolicy, [&] { return policy(); }, unless(facts_.has_value(), kUnread));
    look_at_pod();
    run_.check(
        CheckId::kHostKeyPin, [&] { return pin(); }, unless(facts_.has_value(), kUnread));
    talk(acts);
    return checks_report(name_.text(), run_.done(), "is well", "is NOT well");
  }

 private:
  static constexpr const char* kUnread = "the Sandbox could not be read";

  // In the cluster.

  Outcome cluster() {
    AB_TRY(version, client_.get("/version"));
    const std::string* number = find_string(version, "gitVersion");
    return client_.server() + ", " + escape_text(number == nullptr ? "?" : *number, 60);
  }
  Outcome rights() {
    std::vector<std::string> commands = {"doctor"};
    if (backend_.way() == Way::kPortForward) {
      commands.emplace_back("port-forward");
    }
    AB_TRY(wanted, rights_of(commands));
    AB_TRY(missing, missing_rights(client_, wanted));
    if (!missing.empty()) {
      return check_failed("not allowed in namespace " + client_.ns() + ": " + missing);
    }
    return "namespace " + client_.ns();
  }
  Outcome serves_sandboxes() {
    AB_TRY(group, client_.get("/apis/agents.x-k8s.io"));
    const std::string problem = unsupported(group);
    return problem.empty() ? Outcome("agents.x-k8s.io/v1beta1") : check_failed(problem);
  }
  Outcome controller() {
    AB_TRY(facts, claim_ ? read_claim(*claim_, sandbox_.is_null() ? nullptr : &sandbox_, name_,
                                      client_.ns())
                         : read_sandbox(sandbox_, name_, client_.ns()));
    facts_ = std::move(facts);
    if (facts_->sandbox.empty()) {
      return check_failed("the claim has got no Sandbox: " + facts_->reason);
    }
    if (find_path(sandbox_, "status/conditions") == nullptr) {
      return check_failed(
          "nobody has said anything of the Sandbox: does the agent-sandbox controller run?");
    }
    if (facts_->state == State::kFailed || facts_->being_deleted || facts_->generation == 0) {
      return check_failed(facts_->generation == 0 ? "the box is not finished: no keys were written"
                                                  : facts_->reason);
    }
    if (facts_->host.empty() && facts_->state == State::kRunning) {
      return check_failed("the Sandbox has no Service");
    }
    return std::string(text_of(facts_->state)) +
           (facts_->reason.empty() ? "" : ": " + facts_->reason);
  }
  Outcome policy() {
    const std::string called =
        facts_->pool.empty() ? policy_name(name_) : policy_of_pooled(sandbox_);
    AB_TRY(policy, called.empty() ? std::optional<Json>() : client_.find(kNetworkPolicies, called));
    if (!policy) {
      return check_failed("there is no NetworkPolicy " + called);
    }
    AB_TRY(pod, client_.find(kPods, facts_->pod));
    static const Json kNone = Json::object();
    const Json* labels = pod ? find_path(*pod, "metadata/labels")
                             : find_path(sandbox_, "spec/podTemplate/metadata/labels");
    const std::string problem = policy_problem(*policy, labels == nullptr ? kNone : *labels);
    return problem.empty() ? Outcome(called + ", egress " + facts_->egress)
                           : check_failed("NetworkPolicy " + called + ": " + problem);
  }

  void look_at_pod() {
    std::optional<Skip> skip = unless(facts_.has_value(), kUnread);
    if (!skip && !facts_->wants_to_run) {
      skip = Skip{"the box is suspended"};
    }
    std::optional<Json> pod;
    run_.check(
        CheckId::kPod,
        [&]() -> Outcome {
          AB_TRY(found, client_.find(kPods, facts_->pod));
          if (!found) {
            return check_failed("there is no pod " + facts_->pod + ": " + facts_->reason);
          }
          pod = std::move(found);
          if (!image_problem(*pod).empty()) {
            return check_failed("an image is missing; see the next check");
          }
          const std::string problem = pod_problem(*pod);
          return problem.empty() ? Outcome(pod_words(*pod)) : check_failed(problem);
        },
        skip);
    if (!skip && !pod) {
      skip = Skip{"there is no pod"};
    }
    run_.check(
        CheckId::kImages,
        [&]() -> Outcome {
          const std::string problem = image_problem(*pod);
          return problem.empty() ? Outcome(std::string()) : check_failed(problem);
        },
        skip);
    run_.check(
        CheckId::kPodAsAsked,
        [&]() -> Outcome {
          const auto added = additions_of(*pod, OrderedJson::parse(dump_json(sandbox_)));
          return added.empty()
                     ? Outcome(std::string())
                     : check_failed("somebody changed it: " + escape_text(added.front(), 300));
        },
        skip);
    run_.check(
        CheckId::kPodKeys,
        [&]() -> Outcome {
          const std::uint64_t has = pod_generation(*pod);
          if (has != facts_->generation) {
            return check_failed("the pod has generation " + std::to_string(has) +
                                ", the Sandbox generation " + std::to_string(facts_->generation));
          }
          return "generation " + std::to_string(has);
        },
        skip);
  }

  Outcome pin() {
    const BoxPaths paths = backend_.store().paths(name_);
    AB_TRY(stored, backend_.store().load(name_));
    if (!stored) {
      return std::string("nothing is pinned here yet");
    }
    if (stored->host_key != facts_->host_key) {
      return check_failed("the Sandbox says another host key than the one that is pinned in " +
                          paths.box);
    }
    if (facts_->gateway.kind != GatewayKind::kNone) {
      AB_TRY(pinned, read_file_capped(paths.gateway_known_hosts, 64U << 10U));
      if (pinned != gateway_known_hosts(name_.text(), facts_->gateway)) {
        return check_failed("the Sandbox names another gateway than " + paths.gateway_known_hosts);
      }
    }
    AB_TRY(text, read_file_capped(paths.known_hosts, 64U << 10U));
    if (text != known_hosts_text(name_.text(), stored->host_key)) {
      return check_failed(paths.known_hosts + " is not what was written");
    }
    const auto key = PublicKey::parse(facts_->host_key);
    return key.ok() ? key->fingerprint() : std::string();
  }

  // Over SSH.

  void talk(bool acts) {
    std::optional<Skip> skip = unless(acts, kUnread);
    if (!skip && facts_->state != State::kRunning) {
      skip = Skip{"the box is " + std::string(text_of(facts_->state))};
    }
    if (facts_ && facts_->gateway.kind != GatewayKind::kNone) {
      run_.check(
          CheckId::kClusterGateway, [&] { return gateway(); }, skip);
    }
    const bool open = run_.check(
        CheckId::kClusterDoor, [&] { return door(); }, skip);
    skip = skip ? skip : unless(open, "the door could not be reached");
    run_.check(
        CheckId::kKeys, [&] { return keys(); }, skip);
    run_.check(
        CheckId::kGone, [&] { return gone(); }, skip);
    if (!skip && box_->record.identity_file.empty()) {
      skip = Skip{"the private key is not known here"};
    }
    const bool inside = run_.check(
        CheckId::kLogin, [&] { return login(); }, skip);
    skip = skip ? skip : unless(inside, "no session could be opened");
    run_.check(
        CheckId::kClock, [&] { return clocks_agree(*session_); }, skip);
    if (session_) {
      for (CheckDone& done : try_network(backend_, name_, *session_)) {
        run_.add(std::move(done));
      }
    }
  }

  Outcome gateway() {
    AB_TRY(words, backend_.examine_gateway(name_, *facts_));
    return words;
  }
  Outcome door() {
    AB_TRY(box, backend_.contact(name_));
    box_.emplace(std::move(box));
    if (facts_->gateway.kind == GatewayKind::kSshpiper) {
      // The way of a session ends at the gateway: the door behind it is asked by itself.
      const Status offered = backend_.examine_door(name_, *facts_);
      const bool answered = offered.ok() || offered.error().code == Code::kDenied;
      if (!offered.ok() && (answered || backend_.way() == Way::kPortForward)) {
        return check_failed("behind the gateway: " + offered.error().what);
      }
      return std::string(offered.ok() ? "it takes the gateway's key"
                                      : "only the gateway may connect; --port-forward asks it all "
                                        "the same");
    }
    AB_TRY(line, box_->dial(steady_clock::now() + box_->step));
    static_cast<void>(line);
    return backend_.way() == Way::kPortForward
               ? "pod " + facts_->pod + " through the cluster's API"
               : facts_->host + " port " + std::to_string(kDoorPort);
  }
  Outcome keys() {
    const BoxRecord& record = box_->record;
    const std::string ours = fingerprint_at(record.identity_file);
    if (!ours.empty() && !holds_key(record.keys, ours)) {
      return check_failed("the private key " + record.identity_file + " (" + ours +
                          ") is none of the box's keys");
    }
    AB_TRY(line, box_->dial(steady_clock::now() + box_->step));
    for (const NamedKey& entry : record.keys) {
      AB_TRY(taken, line.client.offer(line.user, entry.key, steady_clock::now() + box_->step));
      if (!taken) {
        return check_failed("the door refuses " + entry.key.fingerprint() +
                            ", which the Sandbox lists");
      }
    }
    return std::to_string(record.keys.size()) + " key(s) accepted";
  }
  Outcome gone() {
    const auto gone = keys_to_refuse(box_->record);
    AB_CHECK(prove_refused(*box_, gone));
    return std::to_string(gone.size()) + " key(s)";
  }
  Outcome login() {
    AB_TRY(session, open_session(*box_, steady_clock::now() + box_->step));
    session_.emplace(std::move(session));
    AB_TRY(value, use_tool(*session_, "system_info", Json::object(), kToolTime));
    const std::string* version = find_string(value, "version");
    return "agent-box " + escape_text(version == nullptr ? "" : *version, 40);
  }

  const KubeBackend& backend_;
  Client& client_;
  BoxName name_;
  CheckRun run_{"doctor"};
  std::optional<Json> claim_;  ///< where the box is one on a pool
  Json sandbox_;
  std::optional<SandboxFacts> facts_;
  std::optional<Contact> box_;
  std::optional<McpClient> session_;
};

}  // namespace

Answer<Report> doctor(const KubeBackend& backend, const BoxName& name) {
  return Examination(backend, name).run();
}

}  // namespace agentbox::provision::kube
