// pure: see pipe.h.
#include "provision/kube/pipe.h"

#include <algorithm>
#include <array>

#include "base/pattern.h"
#include "base/text.h"
#include "provision/kube/api.h"
#include "provision/kube/manifests.h"

namespace agentbox::provision::kube {
namespace {

constexpr const char* kBoxUser = "agent";

OrderedJson head(const Resource& resource, const std::string& object, const std::string& ns,
                 const BoxName& name, const std::string& box_ns) {
  OrderedJson json;
  json["apiVersion"] = resource.group_version;
  json["kind"] = resource.kind;
  json["metadata"]["name"] = object;
  json["metadata"]["namespace"] = ns;
  json["metadata"]["labels"] = {
      {kManagedByLabel, kManagedBy}, {kBoxLabel, name.text()}, {kBoxNamespaceLabel, box_ns}};
  return json;
}

bool is_true(const Json& object, std::string_view name) {
  const Json* value = find_member(object, name);
  return value != nullptr && *value == Json(true);
}

const Json& list_at(const Json& object, std::string_view path) {
  static const Json kEmpty = Json::array();
  const Json* list = find_path(object, path);
  return list != nullptr && list->is_array() ? *list : kEmpty;
}

std::string key_lines(const std::vector<NamedKey>& keys) {
  std::string text;
  for (const NamedKey& entry : keys) {
    // No options: sshpiper does not know those of a box's door.
    text += entry.key.text() + (entry.label.empty() ? "" : " " + entry.label) + "\n";
  }
  return text;
}

// What sshpiper makes of it: base64 where it is that, else the text itself.
std::string decoded(const std::string& data) {
  auto bytes = base64_decode(data);
  return bytes.ok() ? std::move(bytes).value() : data;
}

void judge_from(const Json& from, std::vector<std::string>& out) {
  const std::string user = escape_text(text_at(from, "username"), 80);
  if (is_true(from, "username_regex_match")) {
    out.push_back("its user name " + user + " is a pattern, which fits more names than one");
  }
  const bool keys = !text_at(from, "authorized_keys_data").empty() ||
                    !text_at(from, "authorized_keys_file").empty() ||
                    !text_at(from, "authorized_keys_secret/name").empty();
  const bool passwords =
      !text_at(from, "htpasswd_data").empty() || !text_at(from, "htpasswd_file").empty();
  if (passwords) {
    out.push_back("it lets " + user + " in with a password");
  } else if (!keys) {
    out.push_back("it names no keys for " + user + ": any password is passed on to the box");
  }
}

void judge_to(const Json& to, std::vector<std::string>& out) {
  if (text_at(to, "private_key_secret/name").empty()) {
    out.push_back("it has no key for the box: the gateway falls back to a password");
  }
  if (!text_at(to, "password_secret/name").empty()) {
    out.push_back("it logs in at the box with a password");
  }
  const std::string known_hosts = text_at(to, "known_hosts_data");
  if (known_hosts.empty()) {
    out.push_back("it pins no host key of the box: who stands between reads everything");
  } else if (!base64_decode(known_hosts).ok()) {
    out.push_back("its known_hosts_data is no base64: every login fails");
  }
  if (is_true(to, "ignore_hostkey")) {
    out.push_back("it says ignore_hostkey");
  }
}

}  // namespace

std::string pipe_name(const BoxName& name) { return "agentbox-" + name.text(); }
std::string upstream_name(const BoxName& name) { return name.text() + "-upstream"; }

OrderedJson pipe(const PipePlan& plan) {
  const std::string& ns = plan.gateway.ns;
  OrderedJson json = head(kPipes, pipe_name(plan.name), ns, plan.name, plan.box_ns);
  json["metadata"]["annotations"][kUpstreamAnnotation] = plan.upstream_key;
  if (ns == plan.box_ns && !plan.box_uid.empty()) {
    json["metadata"]["ownerReferences"][0] = {{"apiVersion", kSandboxes.group_version},
                                              {"kind", kSandboxes.kind},
                                              {"name", plan.name.text()},
                                              {"uid", plan.box_uid}};
  }
  OrderedJson from;
  from["username"] = plan.name.text();
  from["authorized_keys_data"] = base64_encode(key_lines(plan.keys));
  json["spec"]["from"] = OrderedJson::array({from});
  OrderedJson& to = json["spec"]["to"];
  to["host"] = plan.box_host + ":" + std::to_string(kDoorPort);
  to["username"] = kBoxUser;
  to["private_key_secret"]["name"] = upstream_name(plan.name);
  // The host as in `host`, or the gateway does not find it.
  to["known_hosts_data"] = base64_encode("[" + plan.box_host + "]:" + std::to_string(kDoorPort) +
                                         " " + plan.box_host_key + "\n");
  return json;
}

Done check_piped_keys(const std::vector<NamedKey>& keys) {
  for (const NamedKey& entry : keys) {
    if (entry.role != Role::kAgent) {
      return Failure{Exit::kRefused,
                     "the key " + entry.key.fingerprint() + " has the role " +
                         std::string(role_name(entry.role)) +
                         ", and behind sshpiper all keys are one to the box",
                     "leave the role out, or use a jump host; nothing was changed"};
    }
  }
  return {};
}

OrderedJson upstream_secret(const BoxName& name, const std::string& box_ns, const std::string& ns,
                            const std::string& public_key, const std::string& private_key) {
  OrderedJson json = head(kSecrets, upstream_name(name), ns, name, box_ns);
  json["metadata"]["annotations"][kUpstreamAnnotation] = public_key;
  json["type"] = kUpstreamType;
  if (!private_key.empty()) {
    json["data"] = upstream_change(public_key, private_key)["data"];
  }
  return json;
}

OrderedJson upstream_change(const std::string& public_key, const std::string& private_key) {
  OrderedJson json;
  json["metadata"]["annotations"][kUpstreamAnnotation] = public_key;
  // Without its last newline it is no key to sshpiper.
  json["data"][kUpstreamMember] =
      base64_encode(private_key + (private_key.ends_with('\n') ? "" : "\n"));
  return json;
}

bool is_of_box(const Json& object, const BoxName& name, const std::string& box_ns) {
  return entry_of(object, "metadata/labels", kManagedByLabel) == kManagedBy &&
         entry_of(object, "metadata/labels", kBoxLabel) == name.text() &&
         entry_of(object, "metadata/labels", kBoxNamespaceLabel) == box_ns;
}

Answer<PipeFacts> read_pipe(const Json& live, PipePlan plan) {
  const auto strange = [&](const std::string& what) {
    return Failure{Exit::kRefused, "Pipe " + pipe_name(plan.name) + ": " + what,
                   "look at it with kubectl get pipes -n " + plan.gateway.ns + " -o yaml"};
  };
  if (!is_of_box(live, plan.name, plan.box_ns)) {
    return strange("agentbox-provision did not make it for this box");
  }
  PipeFacts facts;
  const Json& from = list_at(live, "spec/from");
  if (!from.empty()) {
    auto keys = parse_keys_annotation(decoded(text_at(from.front(), "authorized_keys_data")));
    if (!keys.ok()) {
      return strange("its keys: " + keys.error().what);
    }
    facts.keys = std::move(keys).value();
  }
  facts.upstream_key = entry_of(live, "metadata/annotations", kUpstreamAnnotation);
  plan.keys = facts.keys;
  plan.upstream_key = facts.upstream_key;
  facts.problems = changes_between(pipe(plan), live);
  for (std::string& weakness : pipe_weaknesses(live)) {
    facts.problems.push_back(std::move(weakness));
  }
  return facts;
}

std::vector<std::string> pipe_weaknesses(const Json& pipe) {
  std::vector<std::string> out;
  for (const Json& from : list_at(pipe, "spec/from")) {
    judge_from(from, out);
  }
  const Json* to = find_path(pipe, "spec/to");
  judge_to(to == nullptr ? Json::object() : *to, out);
  for (const char* name : {"sshpiper.com/kubectl_exec_cmd", "kubectl_exec_cmd"}) {
    if (entry_of(pipe, "metadata/annotations", name) == "true") {
      out.push_back("it is a way into a pod by kubectl exec, past the door of any box");
      break;
    }
  }
  return out;
}

std::string username_clash(const std::vector<Json>& pipes, const BoxName& name,
                           const std::string& box_ns) {
  for (const Json& pipe : pipes) {
    if (is_of_box(pipe, name, box_ns) && metadata_text(pipe, "name") == pipe_name(name)) {
      continue;
    }
    const std::string which = "Pipe " + escape_text(metadata_text(pipe, "name"), 260);
    for (const Json& from : list_at(pipe, "spec/from")) {
      const std::string user = text_at(from, "username");
      if (!is_true(from, "username_regex_match")) {
        if (user == name.text()) {
          return which + " has the user name " + name.text() + " already";
        }
        continue;
      }
      const auto pattern = Pattern::compile(user);
      if (!pattern.ok()) {
        return which + " has a pattern that is none, by which logins at the gateway fail";
      }
      if (pattern->found_in(name.text())) {
        return which + " takes the user name " + name.text() + " by the pattern " +
               escape_text(user, 200);
      }
    }
  }
  return {};
}

std::string pipes_unsupported(const Json& group) {
  for (const Json& entry : list_at(group, "versions")) {
    if (text_at(entry, "version") == "v1beta1") {
      return {};
    }
  }
  return "the cluster does not serve sshpiper.com/v1beta1";
}

OrderedJson gateway_role(const std::vector<BoxName>& boxes, const std::string& ns) {
  OrderedJson json;
  json["apiVersion"] = "rbac.authorization.k8s.io/v1";
  json["kind"] = "Role";
  json["metadata"]["name"] = "agentbox-gateway";
  json["metadata"]["namespace"] = ns;
  OrderedJson pipes;
  pipes["apiGroups"] = OrderedJson::array({"sshpiper.com"});
  pipes["resources"] = OrderedJson::array({kPipes.plural});
  pipes["verbs"] = OrderedJson::array({"get", "list", "watch"});
  OrderedJson secrets;
  secrets["apiGroups"] = OrderedJson::array({""});
  secrets["resources"] = OrderedJson::array({kSecrets.plural});
  secrets["resourceNames"] = OrderedJson::array();
  for (const BoxName& name : boxes) {
    secrets["resourceNames"].push_back(upstream_name(name));
  }
  secrets["verbs"] = OrderedJson::array({"get"});
  json["rules"] = OrderedJson::array({pipes, secrets});
  return json;
}

}  // namespace agentbox::provision::kube
