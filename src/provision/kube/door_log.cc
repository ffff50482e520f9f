// pure: see door_log.h.
#include "provision/kube/door_log.h"

#include <algorithm>

#include "base/json.h"

namespace agentbox::provision::kube {
namespace {

bool is_audit(std::string_view line) {
  const auto json = parse_json(line);
  const std::string* stream = json.ok() ? find_string(*json, "stream") : nullptr;
  return stream != nullptr && *stream == "audit";
}

}  // namespace

DoorLog split_door_log(std::string_view text) {
  DoorLog all;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    (is_audit(line) ? all.audit : all.log).append(line).append("\n");
  }
  return all;
}

}  // namespace agentbox::provision::kube
