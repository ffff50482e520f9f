// edge: see spec.h.
#include "provision/spec.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "base/yaml.h"
#include "provision/keys.h"
#include "provision/spec_file.h"

namespace agentbox::provision {
namespace {

namespace fs = std::filesystem;

// A public key or a line of known_hosts, rather than the name of a file.
bool is_a_key(const std::string& text) { return text.find(" AAAA") != std::string::npos; }

// The flags over the file: lists are joined, single values are replaced.
Answer<CreateOptions> with_file(CreateOptions options, WantedBox& wanted) {
  if (options.spec_file.empty()) {
    return options;
  }
  const std::string next = "config/provision.example.yaml shows every key of the file";
  AB_TRY(text, advise(read_file_capped(options.spec_file, kMaxYamlBytes), "name a YAML file"));
  auto file = parse_spec_file(text);
  if (!file.ok()) {
    return Failure{Exit::kUsage, std::move(file).error().in(options.spec_file).what, next};
  }
  // Paths in a file are seen from its folder, wherever the command runs.
  const fs::path folder = fs::path(options.spec_file).parent_path();
  const auto seen_from_file = [&](const std::string& path) {
    return path.empty() ? path : (folder / path).string();
  };
  for (const std::string& key : file->keys) {
    options.key_files.push_back(seen_from_file(key));
  }
  for (const std::string& file_of_ca : file->user_cas) {
    options.user_ca_files.push_back(seen_from_file(file_of_ca));
  }
  if (options.identity_file.empty()) {
    options.identity_file = seen_from_file(file->identity);
  }
  if (options.workspace.empty()) {
    options.workspace = seen_from_file(file->workspace);
  }
  options.no_isolation = options.no_isolation || file->isolation == "none";
  if (options.profile.empty()) {
    options.profile = file->profile;
  }
  if (options.gateway.empty()) {
    options.gateway = file->gateway;
  }
  if (options.gateway_address.empty()) {
    options.gateway_address = file->gateway_address;
  }
  if (options.gateway_host_key.empty() && !file->gateway_host_key.empty()) {
    options.gateway_host_key = is_a_key(file->gateway_host_key)
                                   ? file->gateway_host_key
                                   : seen_from_file(file->gateway_host_key);
  }
  wanted.cluster = std::move(file->cluster);
  wanted.cluster_settings = std::move(file->named);
  return options;
}

Answer<std::string> resolved_folder(const std::string& path) {
  std::error_code problem;
  const std::string folder = fs::canonical(path, problem).string();
  if (problem || !fs::is_directory(folder, problem)) {
    return Failure{Exit::kRefused, "the workspace " + path + " is not a folder that can be entered",
                   "make it first, or leave --workspace out"};
  }
  AB_CHECK(advise(check_path(folder), "use another folder"));
  return folder;
}

void append(std::vector<std::string>& to, const std::vector<std::string>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

// --egress-to alone means a list.
Done take_cluster_flags(const CreateOptions& options, WantedBox& wanted) {
  kube::KubeSpec& spec = wanted.cluster;
  const std::array<std::pair<const char*, bool>, 5> given = {
      {{"runtime_class", !options.runtime_class.empty()},
       {"egress", !options.egress.empty() || !options.egress_to.empty()},
       {"retain_data", options.retain_data},
       {"labels", !options.labels.empty()},
       {"annotations", !options.annotations.empty()}}};
  for (const auto& [name, is_given] : given) {
    if (is_given) {
      wanted.cluster_settings.emplace_back(name);
    }
  }
  if (!options.runtime_class.empty()) {
    spec.runtime_class = options.runtime_class;
  }
  if (!options.egress.empty() || !options.egress_to.empty()) {
    AB_TRY(egress, kube::parse_egress(options.egress.empty() ? "list" : options.egress));
    spec.egress = egress;
    spec.egress_to = options.egress_to;
  }
  spec.retain_data = spec.retain_data || options.retain_data;
  append(spec.labels, options.labels);
  append(spec.annotations, options.annotations);
  return {};
}

void add_once(std::vector<NamedKey>& keys, const NamedKey& entry) {
  const bool there = std::any_of(keys.begin(), keys.end(), [&](const NamedKey& other) {
    return other.key.blob() == entry.key.blob();
  });
  if (!there) {
    keys.push_back(entry);
  }
}

// Its host key comes from the operator: nothing is ever asked of the gateway itself to trust it.
Answer<Gateway> read_gateway(const CreateOptions& options) {
  const std::string next =
      "--gateway jump:[USER@]HOST[:PORT], or --gateway sshpiper:NAMESPACE "
      "--gateway-address HOST[:PORT]; both want --gateway-host-key FILE|KEY";
  if (options.gateway.empty()) {
    if (!options.gateway_address.empty() || !options.gateway_host_key.empty()) {
      return Failure{Exit::kUsage, "--gateway-address and --gateway-host-key go with --gateway",
                     next};
    }
    return Gateway{};
  }
  auto gateway = parse_gateway(options.gateway, options.gateway_address);
  if (!gateway.ok()) {
    return Failure{Exit::kUsage, std::move(gateway).error().what, next};
  }
  const std::string& given = options.gateway_host_key;
  if (given.empty()) {
    return Failure{Exit::kUsage,
                   "the gateway's host key is missing: it is never taken from whoever answers",
                   "--gateway-host-key FILE|KEY: its /etc/ssh/ssh_host_ed25519_key.pub, a "
                   "known_hosts that names it, or the key itself"};
  }
  std::string text = given;
  if (!is_a_key(given)) {
    AB_TRY(content, advise(read_file_capped(given, 1U << 20U), next));
    text = std::move(content);
  }
  auto key = gateway_host_key(*gateway, text);
  if (!key.ok()) {
    return Failure{Exit::kUsage, std::move(key).error().in("the gateway's host key").what, next};
  }
  gateway->host_key = std::move(key).value();
  return std::move(gateway).value();
}

}  // namespace

Answer<WantedBox> read_wanted_box(const CreateOptions& given) {
  WantedBox wanted;
  AB_TRY(options, with_file(given, wanted));
  if (!options.image.empty()) {
    wanted.cluster.image = options.image;
    wanted.cluster_settings.emplace_back("image");
  }
  AB_TRY(gateway, read_gateway(options));
  wanted.cluster.gateway = std::move(gateway);
  if (!options.size.empty()) {
    wanted.cluster.size = options.size;
    wanted.cluster_settings.emplace_back("size");
  }
  AB_CHECK(take_cluster_flags(options, wanted));
  for (const std::string& file : options.key_files) {
    AB_TRY(keys, read_public_keys(file, true));
    for (const NamedKey& entry : keys) {
      add_once(wanted.spec.keys, entry);
    }
  }
  wanted.keys = wanted.spec.keys;
  if (!options.identity_file.empty()) {
    AB_TRY(identity, read_identity(options.identity_file));
    wanted.spec.identity = identity.file;
    add_once(wanted.keys, identity.key);
  }
  for (const std::string& file : options.user_ca_files) {
    AB_TRY(authorities, read_authorities(file));
    for (const NamedKey& entry : authorities) {
      add_once(wanted.spec.authorities, entry);
    }
  }
  if (wanted.spec.authorities.size() > kMaxAuthorities) {
    return Failure{Exit::kRefused, "more than " + std::to_string(kMaxAuthorities) + " user CAs",
                   "one or two are usual"};
  }
  if (wanted.keys.size() > kMaxKeys) {
    return Failure{Exit::kRefused, "more than " + std::to_string(kMaxKeys) + " keys",
                   "a box is one trust domain: give each group of clients a box of its own"};
  }
  if (!options.workspace.empty()) {
    AB_TRY(folder, resolved_folder(options.workspace));
    wanted.spec.workspace = std::move(folder);
  }
  wanted.spec.isolation = options.no_isolation ? Isolation::kNone : Isolation::kBubblewrap;
  wanted.spec.profile = find_profile(options.profile).value_or(Profile::kStandard);
  return wanted;
}

}  // namespace agentbox::provision
