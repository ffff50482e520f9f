// pure: see pod_facts.h.
#include "provision/kube/pod_facts.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "provision/kube/api.h"
#include "provision/kube/manifests.h"

namespace agentbox::provision::kube {
namespace {

constexpr std::size_t kMaxWords = 400;
/// A container that was started again this often is ill, though it runs now.
constexpr std::int64_t kManyRestarts = 5;

constexpr std::array<std::string_view, 6> kImageReasons = {
    "ErrImagePull",      "ImagePullBackOff",  "InvalidImageName",
    "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable"};

const Json& list_at(const Json& object, std::string_view path) {
  static const Json kEmpty = Json::array();
  const Json* list = find_path(object, path);
  return list != nullptr && list->is_array() ? *list : kEmpty;
}

bool is_about_images(const std::string& reason) {
  return std::find(kImageReasons.begin(), kImageReasons.end(), reason) != kImageReasons.end();
}

std::string joined(const std::string& reason, const std::string& message) {
  return escape_text(reason + (message.empty() ? "" : ": ") + message, kMaxWords);
}

std::string of_container(const Json& status, const std::string& what) {
  return "container " + escape_text(text_at(status, "name"), 60) + ": " + what;
}

std::int64_t restarts_of(const Json& status) {
  const Json* count = find_member(status, "restartCount");
  return count != nullptr && count->is_number_integer() ? count->get<std::int64_t>() : 0;
}

// The first thing that any container's status says of IMAGES, or of all else.
std::string waiting_problem(const Json& pod, bool images) {
  for (const char* list : {"status/initContainerStatuses", "status/containerStatuses"}) {
    for (const Json& status : list_at(pod, list)) {
      const std::string reason = text_at(status, "state/waiting/reason");
      if (!reason.empty() && is_about_images(reason) == images && reason != "PodInitializing" &&
          reason != "ContainerCreating") {
        const std::string image =
            images ? " (" + escape_text(text_at(status, "image"), 200) + ")" : "";
        return of_container(status,
                            joined(reason, text_at(status, "state/waiting/message")) + image);
      }
    }
  }
  return {};
}

std::string condition_problem(const Json& pod) {
  for (const Json& condition : list_at(pod, "status/conditions")) {
    const std::string type = text_at(condition, "type");
    const bool matters = type == "PodScheduled" || type == "Ready";
    if (matters && text_at(condition, "status") == "False") {
      return type +
             " is False: " + joined(text_at(condition, "reason"), text_at(condition, "message"));
    }
  }
  return {};
}

std::string restart_problem(const Json& pod) {
  for (const Json& status : list_at(pod, "status/containerStatuses")) {
    if (restarts_of(status) >= kManyRestarts) {
      const std::string last = text_at(status, "lastState/terminated/reason");
      return of_container(status, "was started again " + std::to_string(restarts_of(status)) +
                                      " times" + (last.empty() ? "" : ", last after ") +
                                      escape_text(last, 60));
    }
  }
  return {};
}

bool opens_door(const Json& rule) {
  const Json& ports = list_at(rule, "ports");
  return ports.empty() || std::any_of(ports.begin(), ports.end(), [](const Json& port) {
           const std::string protocol = text_at(port, "protocol");
           const Json* number = find_member(port, "port");
           return (protocol.empty() || protocol == "TCP") &&
                  (number == nullptr || *number == Json(kDoorPort) || *number == Json("ssh"));
         });
}

bool has_type(const Json& policy, std::string_view type) {
  const Json& types = list_at(policy, "spec/policyTypes");
  return std::any_of(types.begin(), types.end(),
                     [&](const Json& one) { return one.is_string() && one == Json(type); });
}

}  // namespace

std::string image_problem(const Json& pod) { return waiting_problem(pod, true); }

std::string pod_problem(const Json& pod) {
  const std::string phase = text_at(pod, "status/phase");
  for (const std::string& problem : {waiting_problem(pod, false), condition_problem(pod)}) {
    if (!problem.empty()) {
      return problem;
    }
  }
  if (phase != "Running") {
    return "it is " + escape_text(phase.empty() ? "not started" : phase, 40) +
           (text_at(pod, "status/reason").empty() ? "" : ": ") +
           joined(text_at(pod, "status/reason"), text_at(pod, "status/message"));
  }
  return restart_problem(pod);
}

std::string pod_words(const Json& pod) {
  std::int64_t restarts = 0;
  for (const Json& status : list_at(pod, "status/containerStatuses")) {
    restarts += restarts_of(status);
  }
  const std::string node = text_at(pod, "spec/nodeName");
  return (node.empty() ? "" : "on node " + escape_text(node, 100) + ", ") +
         std::to_string(restarts) + " restarts";
}

std::string policy_problem(const Json& policy, const Json& labels) {
  const Json* selector = find_path(policy, "spec/podSelector");
  const Json* wanted = find_path(policy, "spec/podSelector/matchLabels");
  if (selector == nullptr || find_member(*selector, "matchExpressions") != nullptr) {
    return "it does not select the pod by its label alone";
  }
  if (wanted != nullptr && wanted->is_object()) {
    for (const auto& entry : wanted->items()) {
      const std::string* has = find_string(labels, entry.key());
      if (has == nullptr || Json(*has) != entry.value()) {
        return "it selects pods with " +
               escape_text(entry.key() + "=" + dump_json(entry.value()), 200) +
               ", and the pod has " + (has == nullptr ? "no such label" : escape_text(*has, 100));
      }
    }
  }
  if (!has_type(policy, "Ingress") || !has_type(policy, "Egress")) {
    return "it does not restrict both what comes in and what goes out";
  }
  const Json& rules = list_at(policy, "spec/ingress");
  if (!std::any_of(rules.begin(), rules.end(), opens_door)) {
    return "it lets nothing in on port " + std::to_string(kDoorPort);
  }
  return {};
}

}  // namespace agentbox::provision::kube
