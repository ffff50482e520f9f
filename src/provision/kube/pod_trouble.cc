// pure: see pod_trouble.h.
#include "provision/kube/pod_trouble.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "provision/kube/api.h"

namespace agentbox::provision::kube {
namespace {

constexpr std::size_t kMostWords = 500;

std::string text_in(const Json& object, std::string_view name) {
  const std::string* text = find_string(object, name);
  return text == nullptr ? std::string() : *text;
}

std::string words_of(const std::string& who, const Json& state) {
  const std::string message = text_in(state, "message");
  return escape_text(who + text_in(state, "reason") + (message.empty() ? "" : ": " + message),
                     kMostWords);
}

const Json* first_of(const Json& pod, std::string_view path, bool (*wanted)(const Json&)) {
  const Json* list = find_path(pod, path);
  if (list == nullptr || !list->is_array()) {
    return nullptr;
  }
  const auto found = std::find_if(list->begin(), list->end(), wanted);
  return found == list->end() ? nullptr : &*found;
}

bool is_unschedulable(const Json& condition) {
  return text_in(condition, "type") == "PodScheduled" && text_in(condition, "status") == "False";
}

// A container that waits for its turn says so with a reason too.
bool is_stuck(const Json& container) {
  constexpr std::array<std::string_view, 2> kOnTheWay = {"PodInitializing", "ContainerCreating"};
  const Json* waiting = find_path(container, "state/waiting");
  const std::string reason = waiting == nullptr ? "" : text_in(*waiting, "reason");
  return !reason.empty() &&
         std::find(kOnTheWay.begin(), kOnTheWay.end(), reason) == kOnTheWay.end();
}

}  // namespace

std::optional<std::string> pod_trouble(const Json& pod) {
  if (const Json* condition = first_of(pod, "status/conditions", is_unschedulable)) {
    return words_of("no node takes its pod: ", *condition);
  }
  for (const char* list : {"status/initContainerStatuses", "status/containerStatuses"}) {
    if (const Json* container = first_of(pod, list, is_stuck)) {
      return words_of("container " + text_in(*container, "name") + ": ",
                      *find_path(*container, "state/waiting"));
    }
  }
  return {};
}

}  // namespace agentbox::provision::kube
