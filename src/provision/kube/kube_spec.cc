// pure: see kube_spec.h.
#include "provision/kube/kube_spec.h"

#include <algorithm>
#include <array>

#include "base/ip.h"
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

bool is_qualified_name(std::string_view name) {
  constexpr std::size_t kMaxNameBytes = 63;
  return !name.empty() && name.size() <= kMaxNameBytes && is_one_of(name.front(), "") &&
         is_one_of(name.back(), "") &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_one_of(c, "-_."); });
}

bool is_within(std::string_view domain, std::string_view of) {
  return domain == of || (domain.ends_with(of) && domain[domain.size() - of.size() - 1] == '.');
}

// KEY of a label or annotation: steers nobody but its user.
Status check_key(std::string_view key) {
  constexpr std::array<std::string_view, 4> kReserved = {"k8s.io", "x-k8s.io", "kubernetes.io",
                                                         "agentbox.internal"};
  const auto slash = key.find('/');
  const std::string_view prefix = slash == std::string_view::npos ? "" : key.substr(0, slash);
  const std::string_view name = slash == std::string_view::npos ? key : key.substr(slash + 1);
  if (!is_qualified_name(name) || (slash != std::string_view::npos && !is_dns_name(prefix))) {
    return bad("not the key of a label such as team or example.org/team", key);
  }
  const bool own = prefix == "app.kubernetes.io" && name != "managed-by";
  if (!own && std::any_of(kReserved.begin(), kReserved.end(),
                          [&](std::string_view domain) { return is_within(prefix, domain); })) {
    return bad("the prefix of this key is the cluster's or ours", key);
  }
  return {};
}

Result<KeyValue> split_pair(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos) {
    return bad("not KEY=VALUE", text);
  }
  AB_CHECK(check_key(text.substr(0, equals)));
  return KeyValue{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

}  // namespace

Result<KeyValue> parse_label(std::string_view text) {
  AB_TRY(pair, split_pair(text));
  if (!pair.value.empty() && !is_qualified_name(pair.value)) {
    return bad("not the value of a label", pair.value);
  }
  return pair;
}

Result<KeyValue> parse_annotation(std::string_view text) {
  constexpr std::size_t kMaxValueBytes = 16U << 10U;
  AB_TRY(pair, split_pair(text));
  const bool control = std::any_of(pair.value.begin(), pair.value.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  if (control || pair.value.size() > kMaxValueBytes || !is_utf8(pair.value)) {
    return bad("not the value of an annotation", pair.value);
  }
  return pair;
}

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
  auto bytes = ip_bytes(text.substr(0, slash));
  if (!prefix.ok() || !bytes || *prefix > bytes->size() * 8) {
    return bad("not an address range such as 192.0.2.0/24", text);
  }
  return AddressRange{std::move(*bytes), static_cast<unsigned>(*prefix)};
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
  for (const std::string& label : spec.labels) {
    AB_CHECK(parse_label(label));
  }
  for (const std::string& annotation : spec.annotations) {
    AB_CHECK(parse_annotation(annotation));
  }
  return {};
}

}  // namespace agentbox::provision::kube
