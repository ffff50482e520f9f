// pure: see surroundings.h.
#include "provision/kube/surroundings.h"

#include <algorithm>
#include <array>

#include "provision/kube/api.h"
#include "provision/kube/kube_spec.h"
#include "provision/kube/manifests.h"

namespace agentbox::provision::kube {
namespace {

constexpr std::uint16_t kHttpsPort = 443;
constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kKubeletPort = 10250;

struct Metadata {
  const char* address;
  const char* whose;
};
constexpr std::array<Metadata, 3> kMetadata = {
    {{"169.254.169.254", "the cloud's metadata service"},
     {"fd00:ec2::254", "the cloud's metadata service (IPv6)"},
     {"100.100.100.200", "the cloud's metadata service (Alibaba)"}}};

Result<AddressRange> address_of(const std::string& text) {
  const bool v6 = text.find(':') != std::string::npos;
  return parse_range(text + (v6 ? "/128" : "/32"));
}

template <typename Ranges>
bool any_contains(const Ranges& ranges, const AddressRange& address) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const char* text) {
    const auto range = parse_range(text);
    return range.ok() && range->contains(address);
  });
}

// What egress_words() of the manifests said: the choice, and its ranges.
bool allows(const std::string& egress, const std::string& address) {
  const auto wanted = address_of(address);
  if (wanted.ok() && egress == text_of(Egress::kInternet)) {
    return !any_contains(kPrivateRanges4, *wanted) && !any_contains(kPrivateRanges6, *wanted);
  }
  std::string_view rest = egress;
  while (!rest.empty()) {
    const auto end = std::min(rest.find(' '), rest.size());
    const auto range = parse_range(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (range.ok() && wanted.ok() && range->contains(*wanted)) {
      return true;
    }
  }
  return false;
}

std::string status_text(const Json& pod, std::string_view path) {
  const Json* value = find_path(pod, path);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

class Collector {
 public:
  explicit Collector(const std::string& egress) : egress_(egress) {}

  // What is no address is left out.
  void add(CheckId check, std::string what, const std::string& address, std::uint16_t port) {
    if (!address_of(address).ok() || port == 0) {
      return;
    }
    const bool known = std::any_of(all_.begin(), all_.end(), [&](const Neighbour& other) {
      return other.address == address && other.port == port;
    });
    if (!known) {
      all_.push_back({check, std::move(what), address, port, allows(egress_, address)});
    }
  }
  [[nodiscard]] std::vector<Neighbour> all() && { return std::move(all_); }

 private:
  std::string egress_;
  std::vector<Neighbour> all_;
};

}  // namespace

std::vector<Neighbour> neighbours_of(const SandboxFacts& facts, const std::vector<Json>& pods,
                                     const ApiAddress& api,
                                     const std::vector<std::string>& nameservers) {
  Collector found(facts.egress);
  for (const std::string& nameserver : nameservers) {
    found.add(CheckId::kApiHidden, "the cluster's API", first_service_address(nameserver),
              kHttpsPort);
  }
  if (!api.host.starts_with("127.") && api.host != "::1") {  // from inside that is the pod itself
    found.add(CheckId::kApiHidden, "the cluster's API", api.host, api.port);
  }
  for (const Metadata& metadata : kMetadata) {
    found.add(CheckId::kMetadataHidden, metadata.whose, metadata.address, kHttpPort);
  }
  for (const Json& pod : pods) {
    const bool own = metadata_text(pod, "name") == facts.pod;
    if (own) {
      found.add(CheckId::kKubeletHidden, "the kubelet of its node",
                status_text(pod, "status/hostIP"), kKubeletPort);
    }
  }
  const auto other = std::find_if(pods.begin(), pods.end(), [&](const Json& pod) {
    return metadata_text(pod, "name") != facts.pod &&
           status_text(pod, "status/phase") == "Running" &&
           address_of(status_text(pod, "status/podIP")).ok();
  });
  if (other != pods.end()) {
    found.add(CheckId::kOtherBoxHidden, "another box", status_text(*other, "status/podIP"),
              kDoorPort);
  }
  return std::move(found).all();
}

}  // namespace agentbox::provision::kube
