// edge: see gc.h.
#include "provision/kube/gc.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "base/log.h"
#include "provision/audit_line.h"
#include "provision/kube/manifests.h"
#include "provision/kube/sandbox_facts.h"

namespace agentbox::provision::kube {
namespace {

std::string box_of(const Json& object) {
  const Json* labels = find_path(object, "metadata/labels");
  const std::string* name = labels == nullptr ? nullptr : find_string(*labels, kBoxLabel);
  return name == nullptr ? std::string() : *name;
}

Answer<std::set<std::string>> boxes_of(Client& client, const Resource& resource) {
  AB_TRY(objects, client.list(resource, std::string(kManagedByLabel) + "=" + kManagedBy));
  std::set<std::string> names;
  for (const Json& object : objects) {
    names.insert(box_of(object));
  }
  return names;
}

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// TIME is the cluster's text, to the second; such texts compare as times do.
bool is_older(const std::string& time, const std::string& limit) {
  constexpr std::size_t kToTheSecond = 19;
  return time.size() >= kToTheSecond &&
         time.substr(0, kToTheSecond) < limit.substr(0, kToTheSecond);
}

class Sweep {
 public:
  Sweep(Client& client, bool dry_run, std::string made_before)
      : client_(client), dry_run_(dry_run), made_before_(std::move(made_before)) {}

  // The Secret first: until its policy is gone it is found again.
  Done box(const BoxName& name, const Json& policy) {
    if (!is_older(metadata_text(policy, "creationTimestamp"), made_before_)) {
      ++young_;
      return {};
    }
    AB_TRY(secret, client_.metadata_of(kSecrets, host_key_name(name)));
    if (secret && is_labelled(*secret, name)) {
      AB_CHECK(remove(kSecrets, host_key_name(name), metadata_text(*secret, "uid")));
    }
    return remove(kNetworkPolicies, policy_name(name), metadata_text(policy, "uid"));
  }
  [[nodiscard]] Report report() const {
    Report report;
    report.json["namespace"] = client_.ns();
    report.json["dry_run"] = dry_run_;
    report.json["removed"] = removed_;
    report.json["too_young"] = young_;
    for (const auto& one : removed_) {
      report.text += (dry_run_ ? "would remove " : "removed ") + one.get<std::string>() + "\n";
    }
    report.text += removed_.empty() ? "nothing to remove\n" : "";
    report.text += young_ == 0 ? ""
                               : std::to_string(young_) +
                                     " box(es) without a Sandbox are too young: they may be "
                                     "just being made\n";
    return report;
  }

 private:
  Done remove(const Resource& resource, const std::string& object, const std::string& uid) {
    if (!dry_run_) {
      log::info("removing", {{"kind", resource.kind}, {"name", object}});
      AB_TRY(gone, client_.remove(resource, object, uid));
      if (!gone) {
        return {};
      }
    }
    removed_.push_back(std::string(resource.kind) + " " + object);
    return {};
  }

  Client& client_;
  bool dry_run_;
  std::string made_before_;
  OrderedJson removed_ = OrderedJson::array();
  std::size_t young_ = 0;
};

}  // namespace

Answer<Report> collect_garbage(Client& client, const Gc& wanted) {
  auto made_before = parse_since(wanted.older_than, now_ms());
  if (!made_before.ok()) {
    return Failure{Exit::kUsage, made_before.error().what, "for example: --older-than 1h"};
  }
  // First what may be left, then what is there: a box made in between is seen to be.
  AB_TRY(policies, client.list(kNetworkPolicies, std::string(kManagedByLabel) + "=" + kManagedBy));
  AB_TRY(sandboxes, boxes_of(client, kSandboxes));
  AB_TRY(pods, boxes_of(client, kPods));
  Sweep sweep(client, wanted.dry_run, std::move(made_before).value());
  for (const Json& policy : policies) {
    const auto name = BoxName::parse(box_of(policy));
    const bool ours = name.ok() && metadata_text(policy, "name") == policy_name(*name);
    if (ours && !sandboxes.contains(name->text()) && !pods.contains(name->text())) {
      AB_CHECK(sweep.box(*name, policy));
    }
  }
  return sweep.report();
}

}  // namespace agentbox::provision::kube
