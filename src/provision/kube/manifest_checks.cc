// pure: see manifests.h: what the cluster made of our objects.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "provision/kube/api.h"
#include "provision/kube/manifests.h"

namespace agentbox::provision::kube {
namespace {

constexpr std::size_t kMostChanges = 20;

std::string shown(const std::string& json) { return escape_text(json, 120); }

// Depth is bounded by what we render.
void compare(const OrderedJson& wanted, const Json& live, const std::string& path,
             std::vector<std::string>& out) {
  if (out.size() >= kMostChanges) {
    return;
  }
  if (wanted.is_object() && live.is_object()) {
    for (const auto& entry : wanted.items()) {
      const Json* member = find_member(live, entry.key());
      compare(entry.value(), member == nullptr ? Json() : *member,
              path + (path.empty() ? "" : ".") + entry.key(), out);
    }
    return;
  }
  if (wanted.is_array() && live.is_array() && wanted.size() == live.size()) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      compare(wanted[i], live[i], path + "[" + std::to_string(i) + "]", out);
    }
    return;
  }
  // An empty list and a list that is not there are the same to the cluster.
  if (dump_json(Json::parse(dump_json(wanted))) != dump_json(live) &&
      !(wanted.is_array() && wanted.empty() && live.is_null())) {
    out.push_back(path + ": is " + (live.is_null() ? "missing" : shown(dump_json(live))) +
                  ", asked for is " + shown(dump_json(wanted)));
  }
}

const Json& list_at(const Json& object, std::string_view path) {
  static const Json kEmpty = Json::array();
  const Json* list = find_path(object, path);
  return list != nullptr && list->is_array() ? *list : kEmpty;
}

std::string name_in(const Json& item, const char* member = "name") {
  const std::string* name = find_string(item, member);
  return name == nullptr ? "" : *name;
}

const Json* item_called(const Json& list, const std::string& name) {
  const auto found = std::find_if(list.begin(), list.end(),
                                  [&](const Json& item) { return name_in(item) == name; });
  return found == list.end() ? nullptr : &*found;
}

// Items of the list at PATH in LIVE whose member KEY no item of OURS has.
void find_added(const Json& live, const Json& ours, const std::string& path, const char* key,
                const std::string& where, std::vector<std::string>& out) {
  std::set<std::string> known;
  for (const Json& item : list_at(ours, path)) {
    known.insert(name_in(item, key));
  }
  for (const Json& item : list_at(live, path)) {
    if (!known.contains(name_in(item, key))) {
      out.push_back(where + path + " " + escape_text(name_in(item, key), 100));
    }
  }
}

void check_containers(const Json& live, const Json& ours, const char* list,
                      std::vector<std::string>& out) {
  find_added(live, ours, list, "name", "", out);
  for (const Json& container : list_at(live, list)) {
    const std::string name = name_in(container);
    const Json* mine = item_called(list_at(ours, list), name);
    if (mine == nullptr) {
      continue;
    }
    const std::string where = std::string(list) + " " + name + ": ";
    find_added(container, *mine, "env", "name", where, out);
    find_added(container, *mine, "volumeMounts", "mountPath", where, out);
    find_added(container, *mine, "volumeDevices", "devicePath", where, out);
    if (!list_at(container, "envFrom").empty()) {
      out.push_back(where + "envFrom");
    }
    if (find_member(container, "lifecycle") != nullptr) {
      out.push_back(where + "lifecycle");
    }
    OrderedJson wanted = OrderedJson::parse(dump_json(*mine));
    wanted.erase("resources");  // the cluster writes amounts its own way, and may change them
    compare(wanted, container, std::string(list) + " " + name, out);
  }
}

void check_volumes(const Json& live, const Json& ours, const Json& claims,
                   std::vector<std::string>& out) {
  Json with_claims = ours;  // the controller puts the volumes of the claims in itself
  for (const Json& claim : claims) {
    with_claims["volumes"].push_back({{"name", metadata_text(claim, "name")}});
  }
  find_added(live, with_claims, "volumes", "name", "", out);
  for (const Json& mine : list_at(ours, "volumes")) {
    const Json* is = item_called(list_at(live, "volumes"), name_in(mine));
    compare(OrderedJson::parse(dump_json(mine)), is == nullptr ? Json() : *is,
            "volume " + name_in(mine), out);
  }
}

}  // namespace

std::vector<std::string> changes_between(const OrderedJson& wanted, const Json& live) {
  std::vector<std::string> out;
  compare(wanted, live, "", out);
  return out;
}

std::vector<std::string> additions_of(const Json& pod, const OrderedJson& sandbox) {
  const Json whole = Json::parse(dump_json(sandbox));
  const Json* ours = find_path(whole, "spec/podTemplate/spec");
  const Json* live = find_path(pod, "spec");
  std::vector<std::string> out;
  if (ours == nullptr || live == nullptr) {
    return {"a pod without a spec"};
  }
  for (const char* list : {"initContainers", "containers", "ephemeralContainers"}) {
    check_containers(*live, *ours, list, out);
  }
  check_volumes(*live, *ours, list_at(whole, "spec/volumeClaimTemplates"), out);
  for (const char* flag : {"hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace"}) {
    const Json* value = find_member(*live, flag);
    if (value != nullptr && *value != Json(false)) {
      out.push_back(flag);
    }
  }
  const Json* token = find_member(*live, "automountServiceAccountToken");
  if (token == nullptr || *token != Json(false)) {
    out.push_back("a service account's token");
  }
  return out;
}

}  // namespace agentbox::provision::kube
