// edge: see pod_wait.h.
#include "provision/kube/pod_wait.h"

#include <algorithm>
#include <optional>

#include "base/log.h"
#include "provision/kube/pod_trouble.h"

namespace agentbox::provision::kube {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kGlance{1};

Answer<std::optional<std::string>> look_at_pod(Client& client, const std::string& pod) {
  std::optional<std::string> trouble;
  const auto judge = [&](const Json* object) -> Answer<Client::Verdict> {
    trouble = object == nullptr ? std::optional<std::string>() : pod_trouble(*object);
    return Client::Verdict{true, "answer", {}};
  };
  AB_CHECK(client.wait(kPods, pod, judge, steady_clock::now() + kGlance));
  return trouble;
}

}  // namespace

Done wait_minding_pod(Client& client, const Resource& resource, const std::string& name,
                      const std::function<std::string()>& pod, const Client::Judge& judge,
                      Client::Deadline deadline) {
  std::optional<std::string> trouble;
  Client::Deadline since;
  // A state that is hardly worth waiting on is waited on no longer for being looked at often.
  std::optional<Client::Deadline> hurry;
  const auto patient = [&](const Json* object) -> Answer<Client::Verdict> {
    AB_TRY(verdict, judge(object));
    hurry = verdict.no_later_than ? std::min(hurry.value_or(deadline), *verdict.no_later_than)
                                  : std::optional<Client::Deadline>();
    verdict.no_later_than = hurry;
    return verdict;
  };
  for (;;) {
    const Done waited =
        client.wait(resource, name, patient, std::min(deadline, steady_clock::now() + kGlance));
    const bool goes_on = !waited.ok() && waited.error().exit == Exit::kUnreachable &&
                         steady_clock::now() < std::min(deadline, hurry.value_or(deadline));
    if (!goes_on) {
      return waited;
    }
    AB_TRY(seen, look_at_pod(client, pod()));
    if (seen && !trouble) {
      since = steady_clock::now();
      log::warning("the pod does not run yet", {{"pod", pod()}, {"why", *seen}});
    }
    trouble = std::move(seen);
    if (trouble && steady_clock::now() - since >= kTroubleTime) {
      return Failure{Exit::kFailed, name + " does not start: " + *trouble,
                     "mend that and run the command again, which goes on waiting; or delete it"};
    }
  }
}

}  // namespace agentbox::provision::kube
