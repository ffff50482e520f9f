// pure: what a pod's door wrote to its one stream, taken apart again: its log and its audit.
#pragma once

#include <string>
#include <string_view>

namespace agentbox::provision::kube {

/// Whole lines each, in their order. A line that says of no stream, such as what a library printed,
/// counts as log.
struct DoorLog {
  std::string log;
  std::string audit;
};
[[nodiscard]] DoorLog split_door_log(std::string_view text);

}  // namespace agentbox::provision::kube
