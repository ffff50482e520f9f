// edge: see pool_commands.h.
#include "provision/kube/pool_commands.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "provision/kube/manifests.h"
#include "provision/kube/pool_facts.h"
#include "provision/spec.h"

namespace agentbox::provision::kube {
namespace {

const std::string kOurs = std::string(kManagedByLabel) + "=" + kManagedBy;

Failure none_called(const char* what, const std::string& name) {
  return Failure{Exit::kNoSuchBox, "there is no " + std::string(what) + " " + name,
                 "`agentbox-provision " + std::string(what) + " list` shows what there is"};
}

std::string in_words(const std::vector<std::string>& names) {
  constexpr std::size_t kMostShown = 10;
  std::string all;
  for (std::size_t i = 0; i < names.size() && i < kMostShown; ++i) {
    all += (i == 0 ? "" : ", ") + names[i];
  }
  return names.size() <= kMostShown
             ? all
             : all + " and " + std::to_string(names.size() - kMostShown) + " more";
}

// Names of the objects of a kind, whoever made them, that FITS.
Answer<std::vector<std::string>> names_of(Client& client, const Resource& kind,
                                          const std::function<bool(const Json&)>& fits) {
  AB_TRY(items, client.list(kind, ""));
  std::vector<std::string> names;
  for (const Json& item : items) {
    if (fits(item)) {
      names.push_back(escape_text(metadata_text(item, "name"), 80));
    }
  }
  return names;
}

Answer<std::vector<std::string>> pools_from(Client& client, const std::string& name) {
  return names_of(client, kPools, [&](const Json& pool) { return template_of_pool(pool) == name; });
}

Answer<std::vector<std::string>> claims_on(Client& client, const std::string& pool,
                                           bool with_keys_alone) {
  return names_of(client, kClaims, [&](const Json& claim) {
    return pool_of_claim(claim) == pool && (!with_keys_alone || lets_somebody_in(claim));
  });
}

// One look at what there is; what the others make of it.
struct Told {
  OrderedJson json;
  std::string text;
};

Told told_template(const TemplateFacts& facts, const std::vector<std::string>& pools) {
  Told told;
  told.json["name"] = facts.name;
  told.json["door_image"] = facts.door_image;
  told.json["image"] = facts.image;
  told.json["egress"] = facts.egress;
  told.json["pools"] = pools;
  told.text = "template   " + facts.name + "\ndoor image " + facts.door_image + "\nimage      " +
              facts.image + "\negress     " + facts.egress + "\npools      " +
              (pools.empty() ? "none" : in_words(pools)) + "\n";
  return told;
}

Told told_pool(const PoolFacts& facts, const std::vector<std::string>& claims) {
  Told told;
  told.json["name"] = facts.name;
  told.json["template"] = facts.from_template;
  told.json["replicas"] = facts.replicas;
  told.json["ready"] = facts.ready;
  told.json["boxes"] = claims;
  told.text = "pool       " + facts.name + "\ntemplate   " + facts.from_template + "\nready      " +
              std::to_string(facts.ready) + " of " + std::to_string(facts.replicas) +
              "\nboxes      " + (claims.empty() ? "none" : in_words(claims)) + "\n";
  return told;
}

Answer<std::optional<TemplateFacts>> find_template(Client& client, const std::string& name) {
  AB_TRY(live, client.find(kTemplates, name));
  if (!live) {
    return std::optional<TemplateFacts>();
  }
  AB_TRY(facts, read_template(*live));
  return std::optional<TemplateFacts>(std::move(facts));
}

Answer<std::optional<PoolFacts>> find_pool(Client& client, const std::string& name) {
  AB_TRY(live, client.find(kPools, name));
  if (!live) {
    return std::optional<PoolFacts>();
  }
  AB_TRY(facts, read_pool(*live));
  return std::optional<PoolFacts>(std::move(facts));
}

Answer<Told> look_at_template(Client& client, const std::string& name) {
  AB_TRY(facts, find_template(client, name));
  if (!facts) {
    return none_called("template", name);
  }
  AB_TRY(pools, pools_from(client, name));
  return told_template(*facts, pools);
}

Answer<Told> look_at_pool(Client& client, const std::string& name) {
  AB_TRY(facts, find_pool(client, name));
  if (!facts) {
    return none_called("pool", name);
  }
  AB_TRY(claims, claims_on(client, name, false));
  return told_pool(*facts, claims);
}

Report as_report(Told told) { return Report{std::move(told.json), std::move(told.text)}; }

// All that are ours, by LOOK at each.
Answer<Report> list_all(Client& client, const Resource& kind, const char* member,
                        const std::function<Answer<Told>(Client&, const std::string&)>& look) {
  AB_TRY(items, client.list(kind, kOurs));
  Report report;
  report.json[member] = OrderedJson::array();
  for (const Json& item : items) {
    const auto name = BoxName::parse(metadata_text(item, "name"));
    if (!name.ok()) {
      continue;
    }
    auto told = look(client, name->text());
    if (!told.ok()) {
      log::warning("one is left out", {{"why", told.error().message}});
      continue;
    }
    report.json[member].push_back(std::move(told->json));
    report.text += (report.text.empty() ? "" : "\n") + told->text;
  }
  if (report.text.empty()) {
    report.text = std::string("no ") + member + "\n";
  }
  return report;
}

Report removed_report(const char* what, const std::string& name, bool changed) {
  Report report;
  report.json["name"] = name;
  report.json["changed"] = changed;
  report.text = changed ? std::string(what) + " " + name + " is deleted\n"
                        : std::string("there was no ") + what + " " + name + "; nothing to do\n";
  return report;
}

Answer<Report> delete_template(Client& client, const std::string& name) {
  AB_TRY(facts, find_template(client, name));
  if (!facts) {
    return removed_report("template", name, false);
  }
  AB_TRY(pools, pools_from(client, name));
  if (!pools.empty()) {
    return Failure{Exit::kRefused,
                   "template " + name + " is what pools are made from: " + in_words(pools) +
                       "; without it keys of their boxes could not be taken away any more",
                   "delete the pools first; nothing was changed"};
  }
  AB_TRY(gone, client.remove(kTemplates, name, facts->uid));
  return removed_report("template", name, gone);
}

Answer<Report> delete_pool(Client& client, const std::string& name) {
  AB_TRY(facts, find_pool(client, name));
  if (!facts) {
    return removed_report("pool", name, false);
  }
  AB_TRY(claims, claims_on(client, name, true));
  if (!claims.empty()) {
    return Failure{Exit::kRefused,
                   "boxes with keys are from pool " + name + ": " + in_words(claims) +
                       "; without it their keys could not be taken away any more",
                   "delete the boxes first, or revoke their keys, or keep the pool with "
                   "--replicas 0; nothing was changed"};
  }
  AB_TRY(gone, client.remove(kPools, name, facts->uid));
  return removed_report("pool", name, gone);
}

Answer<Report> apply_template(Client& client, const BoxName& name, const CreateOptions& options) {
  AB_TRY(spec, template_spec(options));
  AB_TRY(existing, find_template(client, name.text()));
  static_cast<void>(existing);  // but somebody else's is refused
  // The cluster's own checks and policies on it, and on the Sandboxes that pools make of it.
  const OrderedJson object = sandbox_template(name, client.ns(), spec);
  AB_TRY(tried, client.apply(kTemplates, object, kBaseManager, true));
  static_cast<void>(tried);
  AB_TRY(tried_box, client.apply(kSandboxes, sandbox_of_template(name, client.ns(), spec),
                                 kBaseManager, true));
  static_cast<void>(tried_box);
  for (const std::string& image : {spec.door_image, spec.image}) {
    if (!image.empty() && !is_pinned_image(image)) {
      log::warning("an image without a digest can become another one at the next start",
                   {{"image", image}});
    }
  }
  AB_TRY(made, client.apply(kTemplates, object, kBaseManager));
  static_cast<void>(made);
  AB_TRY(told, look_at_template(client, name.text()));
  told.text +=
      "boxes keep what they were made with; pods that wait are replaced as they are taken\n";
  return as_report(std::move(told));
}

Answer<Report> apply_pool(Client& client, const PoolCommand& command) {
  const std::string& from = command.from_template->text();
  AB_TRY(source, find_template(client, from));
  if (!source) {
    return none_called("template", from);
  }
  AB_TRY(existing, find_pool(client, command.name->text()));
  std::optional<std::uint64_t> replicas = command.replicas;
  if (!replicas && existing && existing->replicas_are_ours) {
    replicas = existing->replicas;
  }
  const OrderedJson object =
      warm_pool(*command.name, client.ns(), *command.from_template, replicas);
  AB_TRY(tried, client.apply(kPools, object, kBaseManager, true));
  static_cast<void>(tried);
  AB_TRY(made, client.apply(kPools, object, kBaseManager));
  static_cast<void>(made);
  AB_TRY(told, look_at_pool(client, command.name->text()));
  return as_report(std::move(told));
}

}  // namespace

Answer<KubeSpec> template_spec(const CreateOptions& options) {
  AB_TRY(wanted, read_wanted_box(options));
  if (!wanted.keys.empty() || !wanted.spec.authorities.empty() || !wanted.spec.workspace.empty()) {
    return Failure{Exit::kUsage, "a template has neither keys, nor CAs, nor a workspace of its own",
                   "leave them out of its file: each box of a pool gets its keys at create"};
  }
  if (wanted.cluster.retain_data) {
    return Failure{Exit::kUsage, "boxes of a pool share no volume that could outlive them",
                   "leave retain_data out of the template's file"};
  }
  if (wanted.cluster.gateway.kind != GatewayKind::kNone) {
    return Failure{Exit::kUsage, "a gateway does not know boxes of pools yet",
                   "leave it out of the template's file"};
  }
  if (auto good = check_spec(wanted.cluster); !good.ok()) {
    return Failure{Exit::kUsage, std::move(good).error().what,
                   "config/provision.example.yaml shows every key of the file"};
  }
  return wanted.cluster;
}

Answer<Report> run_template_command(Client& client, const TemplateCommand& command) {
  switch (command.action) {
    case PoolAction::kApply:
      return apply_template(client, *command.name, command.options);
    case PoolAction::kDelete:
      return delete_template(client, command.name->text());
    case PoolAction::kList:
      return list_all(client, kTemplates, "templates", look_at_template);
    case PoolAction::kStatus:
    case PoolAction::kRender:  // has been dealt with: it needs no cluster
      break;
  }
  AB_TRY(told, look_at_template(client, command.name->text()));
  return as_report(std::move(told));
}

Answer<Report> run_pool_command(Client& client, const PoolCommand& command) {
  switch (command.action) {
    case PoolAction::kApply:
      return apply_pool(client, command);
    case PoolAction::kDelete:
      return delete_pool(client, command.name->text());
    case PoolAction::kList:
      return list_all(client, kPools, "pools", look_at_pool);
    case PoolAction::kStatus:
    case PoolAction::kRender:  // has been dealt with: it needs no cluster
      break;
  }
  AB_TRY(told, look_at_pool(client, command.name->text()));
  return as_report(std::move(told));
}

}  // namespace agentbox::provision::kube
