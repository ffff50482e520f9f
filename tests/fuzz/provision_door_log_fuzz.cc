// edge: the stream of a pod's door: whoever broke into its container writes to it.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "provision/kube/door_log.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using agentbox::provision::kube::split_door_log;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto all = split_door_log(text);
  // No byte is lost or made up, but for a newline at the end.
  const bool added = !text.empty() && text.back() != '\n';
  if (all.log.size() + all.audit.size() != size + (added ? 1U : 0U)) {
    std::abort();
  }
  const auto again = split_door_log(all.audit);
  if (again.audit != all.audit || !again.log.empty()) {
    std::abort();
  }
  return 0;
}
