// pure: see cluster.h.
#include "provision/audit/cluster.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"
#include "base/utc.h"
#include "provision/audit/judge.h"
#include "provision/kube/api.h"
#include "provision/kube/manifests.h"
#include "provision/kube/pipe.h"
#include "provision/kube/pod_facts.h"
#include "provision/kube/sandbox_facts.h"

namespace agentbox::provision::audit {
namespace {

using kube::find_path;
using kube::metadata_text;
using Findings = std::vector<Finding>;

constexpr std::size_t kMostShown = 200;
constexpr std::int64_t kDay = 86400;

const Json& list_at(const Json& object, std::string_view path) {
  static const Json kEmpty = Json::array();
  const Json* list = find_path(object, path);
  return list != nullptr && list->is_array() ? *list : kEmpty;
}

std::string text_in(const Json& object, std::string_view member) {
  const std::string* text = find_string(object, member);
  return text == nullptr ? std::string() : escape_text(*text, kMostShown);
}

std::string name_of_object(const Json& object) {
  return escape_text(metadata_text(object, "name"), kMostShown);
}

// Ways to a service account's token that SPEC, of a pod, has.
std::vector<std::string> tokens_in(const Json& spec) {
  std::vector<std::string> found;
  const Json* automount = find_member(spec, "automountServiceAccountToken");
  if (automount == nullptr || *automount != Json(false)) {
    found.emplace_back("automountServiceAccountToken is not false");
  }
  for (const Json& volume : list_at(spec, "volumes")) {
    for (const Json& source : list_at(volume, "projected/sources")) {
      for (const char* kind : {"serviceAccountToken", "clusterTrustBundle", "podCertificate"}) {
        if (find_member(source, kind) != nullptr) {
          found.push_back("volume " + text_in(volume, "name") + " holds a " + kind);
        }
      }
    }
  }
  return found;
}

std::vector<std::string> loose_images(const Json& spec) {
  std::vector<std::string> found;
  for (const char* list : {"initContainers", "containers"}) {
    for (const Json& container : list_at(spec, list)) {
      const std::string* image = find_string(container, "image");
      if (image == nullptr || !kube::is_pinned_image(*image)) {
        found.push_back(text_in(container, "name") + ": " + text_in(container, "image"));
      }
    }
  }
  return found;
}

bool selects(const Json& policy, const Json& labels) {
  const Json* wanted = find_path(policy, "spec/podSelector/matchLabels");
  if (wanted == nullptr || !wanted->is_object()) {
    return find_path(policy, "spec/podSelector/matchExpressions") == nullptr;
  }
  return std::all_of(wanted->items().begin(), wanted->items().end(), [&](const auto& entry) {
    const Json* has = find_member(labels, entry.key());
    return has != nullptr && *has == entry.value();
  });
}

// Two peers where one was meant: either selector does then, and any namespace's pods may come in.
bool has_ored_peers(const Json& rule) {
  bool of_namespace = false;
  bool of_pod = false;
  for (const Json& peer : list_at(rule, "from")) {
    const bool space = find_member(peer, "namespaceSelector") != nullptr;
    const bool pod = find_member(peer, "podSelector") != nullptr;
    of_namespace = of_namespace || (space && !pod);
    of_pod = of_pod || (pod && !space);
  }
  return of_namespace && of_pod;
}

// When the keys of a Sandbox were last written, Unix seconds.
std::optional<std::int64_t> keys_written(const Json& sandbox) {
  std::optional<std::int64_t> newest;
  for (const Json& field : list_at(sandbox, "metadata/managedFields")) {
    const std::string* manager = find_string(field, "manager");
    const std::string* time = find_string(field, "time");
    if (manager == nullptr || *manager != kube::kKeysManager || time == nullptr) {
      continue;
    }
    // The API writes whole seconds.
    const auto moment = parse_time(
        time->ends_with('Z') && time->size() == 20 ? time->substr(0, 19) + ".000Z" : *time);
    if (moment.ok() && (!newest || *moment / 1000 > *newest)) {
      newest = *moment / 1000;
    }
  }
  return newest;
}

struct Box {
  BoxName name;
  const Json* sandbox;
  kube::SandboxFacts facts;
};

const Json* object_called(const std::vector<Json>& objects, const std::string& name) {
  const auto found = std::find_if(objects.begin(), objects.end(), [&](const Json& object) {
    return metadata_text(object, "name") == name;
  });
  return found == objects.end() ? nullptr : &*found;
}

void judge_pod(const Box& box, const NamespaceFacts& facts, Findings& out) {
  const Json* spec = find_path(*box.sandbox, "spec/podTemplate/spec");
  const Json* pod = object_called(facts.pods, box.facts.pod);
  const Json* live = pod == nullptr ? nullptr : find_path(*pod, "spec");
  const Json& counts = live != nullptr ? *live : spec != nullptr ? *spec : Json::object();
  for (const std::string& words : tokens_in(counts)) {
    out.push_back({RuleId::kTokenInPod, "pod " + box.facts.pod, words});
  }
  for (const std::string& image : loose_images(counts)) {
    out.push_back({RuleId::kLooseImage, "container " + image.substr(0, image.find(':')), image});
  }
  if (pod != nullptr) {
    for (const std::string& words :
         kube::additions_of(*pod, OrderedJson::parse(dump_json(*box.sandbox)))) {
      out.push_back({RuleId::kAlteredPod, "pod " + box.facts.pod, escape_text(words, kMostShown)});
    }
  }
}

void judge_policies(const Box& box, const NamespaceFacts& facts, Findings& out) {
  const Json* labels = find_path(*box.sandbox, "spec/podTemplate/metadata/labels");
  bool restricted = false;
  for (const Json& policy : facts.policies) {
    if (labels == nullptr || !selects(policy, *labels)) {
      continue;
    }
    restricted = restricted || kube::policy_problem(policy, *labels).empty();
    for (const Json& rule : list_at(policy, "spec/ingress")) {
      if (has_ored_peers(rule)) {
        out.push_back({RuleId::kOredPeers, "NetworkPolicy " + name_of_object(policy),
                       "its selectors of namespaces and of pods are peers of their own"});
      }
    }
  }
  if (!restricted) {
    out.push_back({RuleId::kNoPolicy, "pod " + box.facts.pod,
                   "no NetworkPolicy selects it and restricts both ways"});
  }
}

void judge_keys(const Box& box, const std::vector<Box>& all, const NamespaceFacts& facts,
                Findings& out) {
  for (const NamedKey& entry : box.facts.keys) {
    std::string others;
    for (const Box& other : all) {
      const bool has =
          std::any_of(other.facts.keys.begin(), other.facts.keys.end(),
                      [&](const NamedKey& key) { return key.key.blob() == entry.key.blob(); });
      if (!(other.name == box.name) && has) {
        others += (others.empty() ? "" : ", ") + other.name.text();
      }
    }
    if (!others.empty()) {
      out.push_back({RuleId::kSharedKey, entry.key.fingerprint(), "it also opens " + others});
    }
    const std::uint64_t bits = rsa_bits(entry.key.blob());
    if (bits != 0 && bits < kLeastRsaBits) {
      out.push_back({RuleId::kShortKey, entry.key.fingerprint(), std::to_string(bits) + " bits"});
    }
  }
  const auto written = keys_written(*box.sandbox);
  const auto days = written ? (facts.now - *written) / kDay : 0;
  if (days > static_cast<std::int64_t>(kOldKeyDays)) {
    out.push_back({RuleId::kOldKey, "keys of generation " + std::to_string(box.facts.generation),
                   "they were last changed " + std::to_string(days) + " days ago"});
  }
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : "; ") + word;
  }
  return text;
}

std::string path_of(const NamespaceFacts& facts, const char* plural, const std::string& name) {
  return "/namespaces/" + facts.ns + "/" + plural + (name.empty() ? "" : "/" + name);
}

void sort(Findings& found) {
  std::stable_sort(found.begin(), found.end(), [](const Finding& a, const Finding& b) {
    const auto rank = [](const Finding& each) {
      return std::pair(-static_cast<int>(rule_of(each.rule).severity), static_cast<int>(each.rule));
    };
    return rank(a) < rank(b);
  });
}

BoxPaper paper_of(const Box& box, const std::vector<Box>& all, const NamespaceFacts& facts) {
  BoxPaper paper;
  paper.name = box.name.text();
  paper.state = std::string(text_of(box.facts.state));
  paper.config = path_of(facts, "sandboxes", box.name.text());
  judge_pod(box, facts, paper.findings);
  judge_policies(box, facts, paper.findings);
  judge_keys(box, all, facts, paper.findings);
  sort(paper.findings);
  Section keys{"keys", "Keys", {"fingerprint", "label", "role"}, {}, ""};
  for (const NamedKey& entry : box.facts.keys) {
    keys.rows.push_back({entry.key.fingerprint(), entry.label, std::string(role_name(entry.role))});
  }
  keys.note = box.facts.gateway.kind == GatewayKind::kSshpiper
                  ? "These are the keys of its Pipe; the door itself takes the gateway's alone."
                  : "";
  Section box_section{"box",
                      "The box",
                      {"what", "how it is"},
                      {{"namespace", facts.ns},
                       {"egress", box.facts.egress},
                       {"gateway", gateway_text(box.facts.gateway)},
                       {"generation of keys", std::to_string(box.facts.generation)}},
                      "Read from the cluster's objects: what runs in the pod was not looked at."};
  paper.sections = {std::move(box_section), std::move(keys)};
  return paper;
}

BoxPaper paper_of_namespace(const NamespaceFacts& facts, const std::vector<std::string>& strange) {
  BoxPaper paper;
  paper.name = "namespace " + facts.ns;
  paper.state = "listed";
  paper.config = path_of(facts, "pipes", "");
  Section pipes{"pipes", "Pipes", {"name", "users", "host"}, {}, ""};
  for (const Json& pipe : facts.pipes) {
    const std::string name = name_of_object(pipe);
    std::vector<std::string> users;
    for (const Json& from : list_at(pipe, "spec/from")) {
      users.push_back(text_in(from, "username"));
    }
    const Json* to = find_path(pipe, "spec/to");
    pipes.rows.push_back({name, joined(users), to == nullptr ? "" : text_in(*to, "host")});
    for (const std::string& words : kube::pipe_weaknesses(pipe)) {
      paper.findings.push_back(
          {RuleId::kWeakPipe, "Pipe " + name, words, path_of(facts, "pipes", name)});
    }
  }
  for (const std::string& words : facts.unseen) {
    paper.findings.push_back({RuleId::kUnseen, facts.ns, escape_text(words, 2 * kMostShown)});
  }
  for (const std::string& words : strange) {
    paper.findings.push_back({RuleId::kUnseen, facts.ns, escape_text(words, 2 * kMostShown)});
  }
  sort(paper.findings);
  paper.sections = {std::move(pipes)};
  return paper;
}

}  // namespace

std::vector<BoxPaper> describe_namespace(const NamespaceFacts& facts) {
  std::vector<Box> boxes;
  std::vector<std::string> strange;
  for (const Json& sandbox : facts.sandboxes) {
    const auto name = BoxName::parse(metadata_text(sandbox, "name"));
    if (!name.ok() || !kube::is_labelled(sandbox, *name)) {
      continue;
    }
    auto read = kube::read_sandbox(sandbox, *name, facts.ns);
    if (!read.ok()) {
      strange.push_back(read.error().message);
      continue;
    }
    if (read->gateway.kind == GatewayKind::kSshpiper && read->gateway.ns == facts.ns) {
      const Json* pipe = object_called(facts.pipes, kube::pipe_name(*name));
      if (auto added = kube::add_pipe(pipe, *name, facts.ns, *read); !added.ok()) {
        strange.push_back(added.error().message);
      }
    }
    boxes.push_back(Box{*name, &sandbox, std::move(read).value()});
  }
  std::vector<BoxPaper> papers;
  for (const Box& box : boxes) {
    papers.push_back(paper_of(box, boxes, facts));
  }
  papers.push_back(paper_of_namespace(facts, strange));
  return papers;
}

}  // namespace agentbox::provision::audit
