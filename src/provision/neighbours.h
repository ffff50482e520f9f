// pure: what code in a box must not reach over the network, and what a try from inside has shown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "provision/checks.h"

namespace agentbox::provision {

/// One address that must not answer from inside a box.
struct Neighbour {
  CheckId check = CheckId::kApiHidden;
  std::string what;     ///< in words
  std::string address;  ///< numeric
  std::uint16_t port = 0;
  bool allowed = false;  ///< the operator's own choice of egress lets it
};

/// What became of one try, as the box says it: hostile input, all of a strict grammar.
struct Reached {
  std::string outcome;  ///< open, refused, silent or unreachable
  std::string address;
  std::uint16_t port = 0;
};
/// What `agent-box reach ADDRESS PORT...` printed.
[[nodiscard]] Result<std::vector<Reached>> parse_reached(std::string_view text);
/// The addresses in what `agent-box reach` printed.
[[nodiscard]] std::vector<std::string> parse_nameservers(std::string_view text);

/// The first address of the range that NAMESERVER, a cluster's DNS, is in: where nearly every
/// cluster has its API for pods. Empty where it is no address.
[[nodiscard]] std::string first_service_address(const std::string& nameserver);

/// The checks on the network as a row, in the order of CheckId. CONTROL is the door's own port,
/// which must answer: else nothing can be told.
[[nodiscard]] std::vector<CheckDone> judge_network(const std::vector<Neighbour>& neighbours,
                                                   const std::vector<Reached>& reached,
                                                   const Reached& control);

}  // namespace agentbox::provision
