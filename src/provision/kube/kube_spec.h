// pure: what a box in a cluster shall be, checked once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace agentbox::provision::kube {

/// What code in the box may reach. Other boxes, the cluster's own addresses and the cloud's
/// metadata are out of reach with every choice but a list that names them.
enum class Egress : std::uint8_t {
  kNone,      ///< nothing; not even names are resolved
  kDns,       ///< the cluster's DNS
  kInternet,  ///< DNS, and every public address
  kList,      ///< DNS, and the addresses of KubeSpec::egress_to
};

/// The image that this version's Dockerfile makes, under the name that it says.
[[nodiscard]] std::string default_door_image();

struct KubeSpec {
  std::string door_image = default_door_image();  ///< ours: the door and agent-box
  std::string image;                              ///< what the agent works in; empty: the door's
  std::string size = "1Gi";    ///< of the volume with workspace, home, /tmp and output
  std::string cpu = "1";       ///< limit of the box's container
  std::string memory = "1Gi";  ///< limit of the box's container
  std::string storage_class;   ///< empty: the cluster's default
  std::string runtime_class;   ///< empty: the cluster's default
  Egress egress = Egress::kNone;
  std::vector<std::string> egress_to;  ///< ADDRESS/PREFIX, with kList
};

/// The first value that is not of its grammar, or success.
[[nodiscard]] Status check_spec(const KubeSpec& spec);

[[nodiscard]] std::string_view text_of(Egress egress);
[[nodiscard]] Result<Egress> parse_egress(std::string_view text);

/// True where the image is named by its digest, so that it is the same one for ever.
[[nodiscard]] bool is_pinned_image(std::string_view image);

/// An address range: four or sixteen bytes, and how many of their bits count.
struct AddressRange {
  std::string bytes;
  unsigned prefix = 0;
  [[nodiscard]] bool contains(const AddressRange& other) const;
};
[[nodiscard]] Result<AddressRange> parse_range(std::string_view text);

}  // namespace agentbox::provision::kube
