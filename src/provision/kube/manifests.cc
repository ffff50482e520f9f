// pure: see manifests.h.
#include "provision/kube/manifests.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "provision/kube/api.h"

namespace agentbox::provision::kube {
namespace {

// Two users, and a group that makes the volumes usable by both.
constexpr int kDoorUser = 1001;
constexpr int kBoxUser = 1000;
constexpr int kVolumesGroup = 2000;
/// Read by the owner and the volumes' group: files of volumes belong to root and that group, and no
/// other mode lets the door's user read them.
constexpr int kSecretMode = 0440;
constexpr int kPublicMode = 0444;

OrderedJson head(const Resource& resource, const std::string& name, const std::string& ns) {
  OrderedJson object;
  object["apiVersion"] = resource.group_version;
  object["kind"] = resource.kind;
  object["metadata"]["name"] = name;
  object["metadata"]["namespace"] = ns;
  return object;
}

OrderedJson labelled(const Resource& resource, const std::string& name, const std::string& ns,
                     const BoxName& box) {
  OrderedJson object = head(resource, name, ns);
  object["metadata"]["labels"] = {{kManagedByLabel, kManagedBy}, {kBoxLabel, box.text()}};
  return object;
}

OrderedJson port(const char* protocol, int number) {
  return {{"protocol", protocol}, {"port", number}};
}

OrderedJson dns_rule() {
  OrderedJson rule;
  rule["to"][0]["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"] = "kube-system";
  rule["ports"] = OrderedJson::array({port("UDP", 53), port("TCP", 53)});
  return rule;
}

OrderedJson block(const std::string& range, const std::vector<std::string>& except) {
  OrderedJson peer;
  peer["ipBlock"]["cidr"] = range;
  if (!except.empty()) {
    peer["ipBlock"]["except"] = except;
  }
  return peer;
}

OrderedJson internet_rule() {
  OrderedJson rule;
  rule["to"] =
      OrderedJson::array({block("0.0.0.0/0", {kPrivateRanges4.begin(), kPrivateRanges4.end()}),
                          block("::/0", {kPrivateRanges6.begin(), kPrivateRanges6.end()})});
  return rule;
}

// The ranges of a list, each without the cloud's metadata addresses where it is wider than those.
OrderedJson list_rule(const std::vector<std::string>& ranges) {
  constexpr std::array<const char*, 2> kMetadata = {"169.254.169.254/32", "fd00:ec2::254/128"};
  OrderedJson rule;
  rule["to"] = OrderedJson::array();
  for (const std::string& text : ranges) {
    std::vector<std::string> except;
    const auto range = parse_range(text);
    for (const char* metadata : kMetadata) {
      const auto address = parse_range(metadata);
      if (range.ok() && address.ok() && range->contains(*address) &&
          range->prefix < address->prefix) {
        except.emplace_back(metadata);
      }
    }
    rule["to"].push_back(block(text, except));
  }
  return rule;
}

OrderedJson egress_rules(const KubeSpec& spec) {
  OrderedJson rules = OrderedJson::array();
  if (spec.egress != Egress::kNone) {
    rules.push_back(dns_rule());
  }
  if (spec.egress == Egress::kInternet) {
    rules.push_back(internet_rule());
  }
  if (spec.egress == Egress::kList) {
    rules.push_back(list_rule(spec.egress_to));
  }
  return rules;
}

std::string egress_words(const KubeSpec& spec) {
  std::string words(text_of(spec.egress));
  for (const std::string& range : spec.egress_to) {
    words += " " + range;
  }
  return words;
}

const std::string& gateway_namespace(const KubeSpec& spec) {
  return spec.gateway_namespace.empty() ? spec.gateway.ns : spec.gateway_namespace;
}

// One peer, whose two selectors must both fit: as two peers either would do.
OrderedJson gateway_peer(const KubeSpec& spec) {
  OrderedJson peer;
  peer["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"] = gateway_namespace(spec);
  const auto label = parse_pod_label(spec.gateway_pods);
  if (label.ok() && !label->name.empty()) {
    peer["podSelector"]["matchLabels"][label->name] = label->value;
  }
  return peer;
}

void add_gateway(const KubeSpec& spec, OrderedJson& annotations) {
  if (spec.gateway.kind == GatewayKind::kNone) {
    return;
  }
  annotations[kGatewayAnnotation] = gateway_text(spec.gateway);
  annotations[kGatewayHostKeyAnnotation] = spec.gateway.host_key;
  if (spec.gateway.kind == GatewayKind::kSshpiper) {
    annotations[kGatewayAddressAnnotation] = gateway_address(spec.gateway);
    annotations[kIngressAnnotation] =
        gateway_namespace(spec) + (spec.gateway_pods.empty() ? "" : " " + spec.gateway_pods);
  }
}

OrderedJson container_security(int user) {
  OrderedJson security;
  security["runAsUser"] = user;
  security["runAsGroup"] = user;
  security["runAsNonRoot"] = true;
  security["privileged"] = false;
  security["allowPrivilegeEscalation"] = false;
  security["readOnlyRootFilesystem"] = true;
  security["capabilities"]["drop"] = OrderedJson::array({"ALL"});
  return security;
}

struct Amounts {
  std::string cpu_request;
  std::string memory_request;
  std::string cpu_limit;
  std::string memory_limit;
};

OrderedJson resources(const Amounts& amounts) {
  OrderedJson all;
  all["requests"] = {{"cpu", amounts.cpu_request}, {"memory", amounts.memory_request}};
  all["limits"] = {{"cpu", amounts.cpu_limit}, {"memory", amounts.memory_limit}};
  return all;
}

OrderedJson mount(const char* volume, const char* path, const char* sub_path, bool read_only) {
  OrderedJson one;
  one["name"] = volume;
  one["mountPath"] = path;
  if (*sub_path != '\0') {
    one["subPath"] = sub_path;
  }
  if (read_only) {
    one["readOnly"] = true;
  }
  return one;
}

OrderedJson image(const KubeSpec& spec, bool of_door) {
  return of_door || spec.image.empty() ? spec.door_image : spec.image;
}

OrderedJson tools_container(const KubeSpec& spec) {
  OrderedJson one;
  one["name"] = "tools";
  one["image"] = image(spec, true);
  // 0711: a program that its user cannot read cannot be seized through ptrace as it starts.
  one["command"] = OrderedJson::array(
      {"/usr/bin/install", "-m", "0711", "/usr/lib/agentbox/agent-box", "/agentbox/bin/agent-box"});
  one["resources"] = resources({"50m", "32Mi", "500m", "64Mi"});
  one["securityContext"] = container_security(kDoorUser);
  one["volumeMounts"] = OrderedJson::array({mount("bin", "/agentbox/bin", "", false)});
  return one;
}

// A box of its own is given its host key; one of a pool makes it, for nobody knows of it yet.
enum class HostKey : std::uint8_t { kGiven, kOwn };

OrderedJson door_container(const KubeSpec& spec, HostKey host_key) {
  OrderedJson one;
  one["name"] = "door";
  one["image"] = image(spec, true);
  one["args"] = OrderedJson::array({"--config", "/etc/agentbox/agentbox-sshd.yaml"});
  if (host_key == HostKey::kOwn) {
    one["args"].push_back("--generate-host-key");
  }
  one["ports"] = OrderedJson::array(
      {OrderedJson{{"name", "ssh"}, {"containerPort", kDoorPort}, {"protocol", "TCP"}}});
  // Its own: what the agent runs must not starve the door. 512 connections are 256 MiB.
  one["resources"] = resources({"100m", "64Mi", "1", "384Mi"});
  one["readinessProbe"] = {{"tcpSocket", {{"port", kDoorPort}}}, {"periodSeconds", 1}};
  one["securityContext"] = container_security(kDoorUser);
  one["volumeMounts"] = OrderedJson::array({mount("keys", "/agentbox/keys", "", true)});
  if (host_key == HostKey::kGiven) {
    one["volumeMounts"].push_back(mount("hostkey", "/agentbox/hostkey", "", true));
  }
  one["volumeMounts"].push_back(mount("data", "/agentbox/state", "door", false));
  one["volumeMounts"].push_back(mount("link", "/agentbox/link", "", false));
  return one;
}

OrderedJson box_container(const KubeSpec& spec) {
  OrderedJson one;
  one["name"] = "box";
  one["image"] = image(spec, false);
  one["command"] = OrderedJson::array(
      {"/agentbox/bin/agent-box", "spawner", "--link", "/agentbox/link/door.sock"});
  one["workingDir"] = "/workspace";
  one["resources"] = resources({"100m", "128Mi", spec.cpu, spec.memory});
  one["securityContext"] = container_security(kBoxUser);
  one["volumeMounts"] = OrderedJson::array(
      {mount("data", "/workspace", "work", false), mount("data", "/home/agent", "home", false),
       mount("data", "/tmp", "tmp", false), mount("data", "/run/agentbox-out", "out", false),
       mount("link", "/agentbox/link", "", true), mount("bin", "/agentbox/bin", "", true)});
  return one;
}

std::string key_lines(const std::vector<NamedKey>& keys) {
  std::string text;
  for (const NamedKey& entry : keys) {
    text += key_line(entry) + "\n";
  }
  return text;
}

OrderedJson projected(const char* file, const char* annotation) {
  OrderedJson item;
  item["path"] = file;
  item["fieldRef"]["fieldPath"] = "metadata.annotations['" + std::string(annotation) + "']";
  return item;
}

OrderedJson of_the_pod(const char* file, const char* field) {
  OrderedJson item;
  item["path"] = file;
  item["fieldRef"]["fieldPath"] = field;
  return item;
}

// HOST_KEY_SECRET empty: the door makes its own key, and must know when its volume was another's.
OrderedJson volumes(const std::string& host_key_secret) {
  OrderedJson keys;
  keys["name"] = "keys";
  keys["downwardAPI"]["defaultMode"] = kPublicMode;
  // What a certificate must name, from the pod itself: a box of a pool has no other name.
  keys["downwardAPI"]["items"] = OrderedJson::array(
      {projected("authorized_keys", kKeysAnnotation),
       projected("generation", kGenerationAnnotation), projected("revoked", kRevokedAnnotation),
       projected("user_ca", kUserCaAnnotation), of_the_pod("box_name", "metadata.name")});
  OrderedJson all = OrderedJson::array();
  if (host_key_secret.empty()) {
    keys["downwardAPI"]["items"].push_back(of_the_pod("box_namespace", "metadata.namespace"));
    all.push_back(keys);
  } else {
    OrderedJson host_key;
    host_key["name"] = "hostkey";
    host_key["secret"] = {{"secretName", host_key_secret}, {"defaultMode", kSecretMode}};
    all.push_back(keys);
    all.push_back(host_key);
  }
  OrderedJson link;
  link["name"] = "link";
  link["emptyDir"] = {{"medium", "Memory"}, {"sizeLimit", "1Mi"}};
  OrderedJson bin;
  bin["name"] = "bin";
  bin["emptyDir"] = {{"sizeLimit", "64Mi"}};
  all.push_back(link);
  all.push_back(bin);
  return all;
}

// HOST_KEY_SECRET as for volumes().
OrderedJson pod_spec(const KubeSpec& spec, const std::string& host_key_secret) {
  OrderedJson pod;
  pod["automountServiceAccountToken"] = false;
  pod["enableServiceLinks"] = false;
  pod["shareProcessNamespace"] = false;
  pod["restartPolicy"] = "Always";
  pod["terminationGracePeriodSeconds"] = 30;  // running calls get 20 s of it
  if (!spec.runtime_class.empty()) {
    pod["runtimeClassName"] = spec.runtime_class;
  }
  pod["securityContext"]["runAsNonRoot"] = true;
  pod["securityContext"]["fsGroup"] = kVolumesGroup;
  pod["securityContext"]["seccompProfile"]["type"] = "RuntimeDefault";
  pod["initContainers"] = OrderedJson::array({tools_container(spec)});
  pod["containers"] = OrderedJson::array(
      {door_container(spec, host_key_secret.empty() ? HostKey::kOwn : HostKey::kGiven),
       box_container(spec)});
  pod["volumes"] = volumes(host_key_secret);
  return pod;
}

// What comes in and goes out of a box, in the words of a NetworkPolicy.
OrderedJson ingress_rules(const KubeSpec& spec) {
  OrderedJson in;
  if (spec.gateway.kind == GatewayKind::kSshpiper) {
    in["from"] = OrderedJson::array({gateway_peer(spec)});
  }
  in["ports"] = OrderedJson::array({port("TCP", kDoorPort)});
  return OrderedJson::array({in});
}

void set_claim(const KubeSpec& spec, OrderedJson& claim) {
  claim["spec"]["accessModes"] = OrderedJson::array({"ReadWriteOnce"});
  if (!spec.storage_class.empty()) {
    claim["spec"]["storageClassName"] = spec.storage_class;
  }
  claim["spec"]["resources"]["requests"]["storage"] = spec.size;
}

OrderedJson data_claim(const KubeSpec& spec) {
  OrderedJson claim;
  claim["metadata"]["name"] = "data";
  set_claim(spec, claim);
  return claim;
}

// What the user gave, on the Sandbox and on its pod. It has passed check_spec().
void add_given(const KubeSpec& spec, OrderedJson& metadata) {
  for (const std::string& text : spec.labels) {
    if (auto label = parse_label(text); label.ok()) {
      metadata["labels"][label->key] = label->value;
    }
  }
  for (const std::string& text : spec.annotations) {
    if (auto annotation = parse_annotation(text); annotation.ok()) {
      metadata["annotations"][annotation->key] = annotation->value;
    }
  }
}

}  // namespace

std::string policy_name(const BoxName& name) { return "agentbox-" + name.text(); }
std::string host_key_name(const BoxName& name) { return name.text() + "-hostkey"; }
std::string data_name(const BoxName& name) { return name.text() + "-data"; }

OrderedJson retained_claim(const BoxName& name, const std::string& ns, const KubeSpec& spec) {
  OrderedJson object = labelled(kVolumeClaims, data_name(name), ns, name);
  set_claim(spec, object);
  return object;
}

OrderedJson network_policy(const BoxName& name, const std::string& ns, const KubeSpec& spec) {
  OrderedJson object = labelled(kNetworkPolicies, policy_name(name), ns, name);
  object["spec"]["podSelector"]["matchLabels"][kBoxLabel] = name.text();
  object["spec"]["policyTypes"] = OrderedJson::array({"Ingress", "Egress"});
  object["spec"]["ingress"] = ingress_rules(spec);
  object["spec"]["egress"] = egress_rules(spec);
  return object;
}

OrderedJson host_key_secret(const BoxName& name, const std::string& ns,
                            const std::string& public_key, const std::string& private_key) {
  OrderedJson object = labelled(kSecrets, host_key_name(name), ns, name);
  object["metadata"]["annotations"][kHostKeyAnnotation] = public_key;
  object["type"] = "Opaque";
  if (!private_key.empty()) {
    object["data"][kHostKeyFile] = base64_encode(private_key);
  }
  return object;
}

OrderedJson sandbox(const BoxName& name, const std::string& ns, const KubeSpec& spec,
                    const std::string& public_key) {
  OrderedJson object = labelled(kSandboxes, name.text(), ns, name);
  object["metadata"]["annotations"][kHostKeyAnnotation] = public_key;
  object["metadata"]["annotations"][kEgressAnnotation] = egress_words(spec);
  add_gateway(spec, object["metadata"]["annotations"]);
  object["spec"]["service"] = true;
  OrderedJson& pod = object["spec"]["podTemplate"];
  pod["metadata"]["labels"] = {{kManagedByLabel, kManagedBy}, {kBoxLabel, name.text()}};
  add_given(spec, object["metadata"]);
  add_given(spec, pod["metadata"]);
  pod["spec"] = pod_spec(spec, host_key_name(name));
  if (spec.retain_data) {
    pod["spec"]["volumes"].push_back(
        {{"name", "data"}, {"persistentVolumeClaim", {{"claimName", data_name(name)}}}});
  } else {
    object["spec"]["volumeClaimTemplates"] = OrderedJson::array({data_claim(spec)});
  }
  return object;
}

namespace {

// The blueprint that a template and the Sandboxes of its pools have in common.
void add_pooled(const BoxName& name, const KubeSpec& spec, OrderedJson& blueprint) {
  OrderedJson& pod = blueprint["podTemplate"];
  pod["metadata"]["labels"] = {{kManagedByLabel, kManagedBy}, {kTemplateLabel, name.text()}};
  pod["metadata"]["annotations"][kEgressAnnotation] = egress_words(spec);
  add_given(spec, pod["metadata"]);
  pod["spec"] = pod_spec(spec, "");
  blueprint["volumeClaimTemplates"] = OrderedJson::array({data_claim(spec)});
  blueprint["service"] = true;  // without it a box of the pool has no name to be reached by
}

OrderedJson ours(const Resource& resource, const std::string& name, const std::string& ns) {
  OrderedJson object = head(resource, name, ns);
  object["metadata"]["labels"][kManagedByLabel] = kManagedBy;
  return object;
}

}  // namespace

OrderedJson sandbox_template(const BoxName& name, const std::string& ns, const KubeSpec& spec) {
  OrderedJson object = ours(kTemplates, name.text(), ns);
  object["spec"] = OrderedJson::object();
  add_pooled(name, spec, object["spec"]);
  object["spec"]["networkPolicyManagement"] = "Managed";
  object["spec"]["networkPolicy"]["ingress"] = ingress_rules(spec);
  object["spec"]["networkPolicy"]["egress"] = egress_rules(spec);
  // What a claim put in there would force a new pod, and could change what the door is.
  object["spec"]["envVarsInjectionPolicy"] = "Disallowed";
  object["spec"]["volumeClaimTemplatesPolicy"] = "Disallowed";
  return object;
}

OrderedJson sandbox_of_template(const BoxName& name, const std::string& ns, const KubeSpec& spec) {
  OrderedJson object = ours(kSandboxes, name.text(), ns);
  object["spec"] = OrderedJson::object();
  add_pooled(name, spec, object["spec"]);
  return object;
}

OrderedJson warm_pool(const BoxName& name, const std::string& ns, const BoxName& from_template,
                      std::optional<std::uint64_t> replicas) {
  OrderedJson object = ours(kPools, name.text(), ns);
  object["spec"]["sandboxTemplateRef"]["name"] = from_template.text();
  if (replicas) {
    object["spec"]["replicas"] = *replicas;
  }
  return object;
}

OrderedJson sandbox_claim(const BoxName& name, const std::string& ns, const std::string& pool,
                          const std::string& public_key) {
  OrderedJson object = labelled(kClaims, name.text(), ns, name);
  if (!public_key.empty()) {
    object["metadata"]["annotations"][kHostKeyAnnotation] = public_key;
  }
  object["spec"]["warmPoolRef"]["name"] = pool;
  return object;
}

KeysPlace in_sandbox(const std::string& object) {
  return {kSandboxes, object, "spec/podTemplate/metadata/annotations"};
}

KeysPlace in_claim(const std::string& object) {
  return {kClaims, object, "spec/additionalPodMetadata/annotations"};
}

Result<OrderedJson> sandbox_keys(const BoxName& name, const std::string& ns, const DoorKeys& door) {
  return keys_part(in_sandbox(name.text()), ns, door);
}

Result<OrderedJson> keys_part(const KeysPlace& place, const std::string& ns, const DoorKeys& door) {
  const std::string text = key_lines(door.keys);
  const std::string authorities = key_lines(door.authorities);
  std::string revoked;
  for (const std::string& line : door.revoked) {
    revoked += line + "\n";
  }
  if (text.size() + revoked.size() + authorities.size() > kMaxKeysBytes) {
    return Error{Code::kLimit,
                 "the keys take more than " + std::to_string(kMaxKeysBytes) + " bytes"};
  }
  OrderedJson object = head(place.kind, place.object, ns);
  OrderedJson& annotations = object[OrderedJson::json_pointer("/" + place.path)];
  annotations[kKeysAnnotation] = text;
  // Always there: an apply that leaves this map empty is refused by the cluster.
  annotations[kGenerationAnnotation] = std::to_string(door.generation);
  annotations[kRevokedAnnotation] = revoked;
  annotations[kUserCaAnnotation] = authorities;
  return object;
}

OrderedJson sandbox_mode(const std::string& object_name, const std::string& ns,
                         const std::string& mode) {
  OrderedJson object = head(kSandboxes, object_name, ns);
  object["spec"]["operatingMode"] = mode;
  return object;
}

Result<std::uint64_t> serial_of(std::string_view line) {
  constexpr std::string_view kSerial = "serial:";
  return parse_decimal(line.starts_with(kSerial) ? line.substr(kSerial.size()) : "");
}

Result<std::vector<std::string>> parse_revoked_annotation(std::string_view text) {
  std::vector<std::string> all;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!is_fingerprint(line) && !serial_of(line).ok()) {
      return Error{Code::kInvalid, "a line of the revoked keys is no fingerprint and no serial:N"};
    }
    all.emplace_back(line);
  }
  return all;
}

Result<std::vector<NamedKey>> parse_keys_annotation(std::string_view text) {
  std::vector<NamedKey> keys;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') {
      continue;
    }
    if (keys.size() >= kMaxKeys) {
      return Error{Code::kLimit, "more than " + std::to_string(kMaxKeys) + " keys"};
    }
    AB_TRY(entry, parse_key_line(line));
    keys.push_back(std::move(entry));
  }
  return keys;
}

}  // namespace agentbox::provision::kube
