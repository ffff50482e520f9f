// pure: what a box in a cluster shall be, checked once.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "provision/gateway.h"

namespace agentbox::provision::kube {

/// Addresses that are not the internet's: private, shared, of this machine and link, the cloud's
/// metadata among them. With Egress::kInternet they stay out of reach.
inline constexpr std::array<const char*, 6> kPrivateRanges4 = {"10.0.0.0/8",    "100.64.0.0/10",
                                                               "127.0.0.0/8",   "169.254.0.0/16",
                                                               "172.16.0.0/12", "192.168.0.0/16"};
inline constexpr std::array<const char*, 4> kPrivateRanges6 = {"::1/128", "64:ff9b::/96",
                                                               "fc00::/7", "fe80::/10"};

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
  Gateway gateway = {};                ///< through which clients reach it
  /// Whose pods alone may connect to the door, where the gateway is sshpiper: their namespace
  /// (empty: the Pipe's), and a label LABEL=VALUE that they have (empty: any pod of it).
  std::string gateway_namespace = {};
  std::string gateway_pods = "app.kubernetes.io/name=sshpiper";
  /// The volume is an object of its own and outlives the box.
  bool retain_data = false;
  std::vector<std::string> labels = {};       ///< KEY=VALUE, of the Sandbox and its pod
  std::vector<std::string> annotations = {};  ///< KEY=VALUE, of the Sandbox and its pod
};

/// KubeSpec::gateway_pods taken apart; both empty where any pod is meant.
struct PodLabel {
  std::string name;
  std::string value;
};
[[nodiscard]] Result<PodLabel> parse_pod_label(std::string_view text);

/// KEY=VALUE taken apart.
struct KeyValue {
  std::string key;
  std::string value;
};
/// A label that a user may give: of Kubernetes' grammar, and under no prefix of Kubernetes',
/// agent-sandbox's or ours, with which it would steer those.
[[nodiscard]] Result<KeyValue> parse_label(std::string_view text);
/// The same of an annotation, whose value is any text without control characters.
[[nodiscard]] Result<KeyValue> parse_annotation(std::string_view text);

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
