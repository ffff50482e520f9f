// pure: see kube_spec.h.
#include "provision/kube/kube_spec.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "provision/kube/connection.h"

namespace agentbox::provision::kube {
namespace {

constexpr std::array<std::pair<Egress, std::string_view>, 4> kEgress = {{
    {Egress::kNone, "none"},
    {Egress::kDns, "dns"},
    {Egress::kInternet, "internet"},
    {Egress::kList, "list"},
}};

bool is_one_of(char c, std::string_view more) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         more.find(c) != std::string_view::npos;
}

Error bad(std::string_view what, std::string_view value) {
  return Error{Code::kInvalid, std::string(what) + ": " + escape_text(value, 200)};
}

bool is_image(std::string_view text) {
  constexpr std::size_t kMaxImageBytes = 512;
  return !text.empty() && text.size() <= kMaxImageBytes && is_one_of(text.front(), "") &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_one_of(c, "._/:@-"); });
}

// A quantity without sign and exponent: digits, perhaps a fraction, perhaps a unit.
bool is_quantity(std::string_view text) {
  constexpr std::array<std::string_view, 12> kUnits = {"",  "m",  "k",  "M",  "G",  "T",
                                                       "P", "Ki", "Mi", "Gi", "Ti", "Pi"};
  const auto end = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view number = text.substr(0, end);
  return number.find_first_of("123456789") != std::string_view::npos && number.front() != '.' &&
         number.back() != '.' && std::count(number.begin(), number.end(), '.') <= 1 &&
         std::find(kUnits.begin(), kUnits.end(), text.substr(end)) != kUnits.end();
}

}  // namespace

std::string default_door_image() { return "agentbox-door:" AGENTBOX_VERSION; }

std::string_view text_of(Egress egress) {
  return std::find_if(kEgress.begin(), kEgress.end(),
                      [&](const auto& entry) { return entry.first == egress; })
      ->second;
}

Result<Egress> parse_egress(std::string_view text) {
  for (const auto& [egress, name] : kEgress) {
    if (text == name) {
      return egress;
    }
  }
  return bad("egress must be none, dns, internet or list", text);
}

bool is_pinned_image(std::string_view image) {
  constexpr std::string_view kDigest = "@sha256:";
  constexpr std::size_t kHexBytes = 64;
  const auto at = image.find(kDigest);
  return at != std::string_view::npos && image.size() == at + kDigest.size() + kHexBytes;
}

Result<AddressRange> parse_range(std::string_view text) {
  const auto slash = text.find('/');
  const auto prefix =
      parse_decimal(slash == std::string_view::npos ? std::string_view() : text.substr(slash + 1));
  const std::string address(text.substr(0, slash));
  std::array<char, 16> bytes{};
  const bool v6 = address.find(':') != std::string::npos;
  const std::size_t size = v6 ? 16 : 4;
  if (!prefix.ok() || *prefix > size * 8 ||
      ::inet_pton(v6 ? AF_INET6 : AF_INET, address.c_str(), bytes.data()) != 1) {
    return bad("not an address range such as 192.0.2.0/24", text);
  }
  return AddressRange{std::string(bytes.data(), size), static_cast<unsigned>(*prefix)};
}

bool AddressRange::contains(const AddressRange& other) const {
  if (bytes.size() != other.bytes.size() || prefix > other.prefix) {
    return false;
  }
  for (unsigned bit = 0; bit < prefix; ++bit) {
    const auto differs = static_cast<unsigned char>(bytes[bit / 8]) ^
                         static_cast<unsigned char>(other.bytes[bit / 8]);
    if ((static_cast<unsigned>(differs) >> (7 - bit % 8) & 1U) != 0) {
      return false;
    }
  }
  return true;
}

Result<PodLabel> parse_pod_label(std::string_view text) {
  constexpr std::size_t kMaxBytes = 63;
  const auto word = [](std::string_view part, std::string_view more) {
    return !part.empty() && is_one_of(part.front(), "") && is_one_of(part.back(), "") &&
           std::all_of(part.begin(), part.end(), [&](char c) { return is_one_of(c, more); });
  };
  if (text.empty()) {
    return PodLabel{};
  }
  const auto equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view() : text.substr(equals + 1);
  const std::string_view last = name.substr(std::min(name.rfind('/') + 1, name.size()));
  if (!word(name, "._-/") || std::count(name.begin(), name.end(), '/') > 1 ||
      last.size() > kMaxBytes || !word(value, "._-") || value.size() > kMaxBytes) {
    return bad("not a label such as app.kubernetes.io/name=sshpiper", text);
  }
  return PodLabel{std::string(name), std::string(value)};
}

Status check_spec(const KubeSpec& spec) {
  for (const std::string& image : {spec.door_image, spec.image}) {
    if (!image.empty() && !is_image(image)) {
      return bad("not the name of an image", image);
    }
  }
  if (spec.door_image.empty()) {
    return bad("door_image must not be empty", "");
  }
  for (const std::string& quantity : {spec.size, spec.cpu, spec.memory}) {
    if (!is_quantity(quantity)) {
      return bad("not an amount such as 1Gi or 500m", quantity);
    }
  }
  for (const std::string& name : {spec.storage_class, spec.runtime_class}) {
    if (!name.empty() && !is_dns_name(name)) {
      return bad("not the name of a class", name);
    }
  }
  if ((spec.egress == Egress::kList) == spec.egress_to.empty()) {
    return bad("egress: list and egress_to belong together", text_of(spec.egress));
  }
  for (const std::string& range : spec.egress_to) {
    AB_CHECK(parse_range(range));
  }
  if (!spec.gateway_namespace.empty() && !is_dns_name(spec.gateway_namespace)) {
    return bad("not the name of a namespace", spec.gateway_namespace);
  }
  AB_CHECK(parse_pod_label(spec.gateway_pods));
  return {};
}

}  // namespace agentbox::provision::kube
