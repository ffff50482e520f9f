// edge: what a box says of its network, which is whatever its code likes to say.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "provision/neighbours.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace agentbox::provision;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const std::string& nameserver : parse_nameservers(text)) {
    if (first_service_address(nameserver).empty()) {
      std::abort();
    }
  }
  const auto reached = parse_reached(text);
  if (!reached.ok()) {
    return 0;
  }
  const std::vector<Neighbour> wanted = {{CheckId::kApiHidden, "the API", "10.96.0.1", 443, false}};
  bool open = false;
  bool first = true;
  for (const Reached& one : *reached) {
    const bool same = one.address == "10.96.0.1" && one.port == 443;
    open = open || (same && first && one.outcome == "open");
    first = first && !same;
  }
  const auto done = judge_network(wanted, *reached, {"open", "127.0.0.1", 2222});
  if (done.size() != 4 || (open && done.front().outcome != CheckOutcome::kFailed)) {
    std::abort();
  }
  return 0;
}
