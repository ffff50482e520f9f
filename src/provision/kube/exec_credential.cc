// pure: see exec_credential.h.
#include "provision/kube/exec_credential.h"

#include <algorithm>

#include "base/defence.h"
#include "base/json.h"
#include "base/text.h"
#include "provision/kube/connection.h"

namespace agentbox::provision::kube {

Result<ExecPolicy> parse_exec_policy(std::string_view text) {
  constexpr std::string_view kAllow = "allow=";
  if (text.empty()) {
    return ExecPolicy{};
  }
  if (text == "deny") {
    return ExecPolicy{ExecPolicy::Mode::kDeny, {}};
  }
  if (!text.starts_with(kAllow) || text.size() == kAllow.size()) {
    return Error{Code::kInvalid, "--exec-plugins takes deny or allow=NAME[,NAME...]"};
  }
  text.remove_prefix(kAllow.size());
  ExecPolicy policy{ExecPolicy::Mode::kAllowListed, {}};
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    policy.allowed.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return policy;
}

Status may_run(const ExecPolicy& policy, const std::string& command, const std::string& path) {
  const auto listed = [&](const std::string& name) {
    return std::find(policy.allowed.begin(), policy.allowed.end(), name) != policy.allowed.end();
  };
  if (policy.mode == ExecPolicy::Mode::kAllowAll || !defended("exec-plugins") ||
      (policy.mode == ExecPolicy::Mode::kAllowListed && (listed(command) || listed(path)))) {
    return {};
  }
  return Error{Code::kDenied, "the kubeconfig wants to run " + escape_text(command, 200) +
                                  ", which --exec-plugins does not allow"};
}

std::string exec_info(const ExecPlugin& plugin, const Cluster& cluster, const std::string& ca,
                      bool interactive) {
  OrderedJson spec;
  if (plugin.provide_cluster_info) {
    OrderedJson about;
    about["server"] = cluster.server;
    if (!cluster.tls_server_name.empty()) {
      about["tls-server-name"] = cluster.tls_server_name;
    }
    if (!ca.empty()) {
      about["certificate-authority-data"] = base64_encode(ca);
    }
    if (!cluster.proxy_url.empty()) {
      about["proxy-url"] = cluster.proxy_url;
    }
    if (!cluster.exec_config.is_null()) {
      about["config"] = cluster.exec_config;
    }
    spec["cluster"] = std::move(about);
  }
  spec["interactive"] = interactive;
  OrderedJson info;
  info["kind"] = "ExecCredential";
  info["apiVersion"] = plugin.api_version;
  info["spec"] = std::move(spec);
  return dump_json(info);
}

Result<ExecCredential> parse_exec_credential(std::string_view output,
                                             const std::string& api_version) {
  const auto bad = [](const std::string& what) {
    return Error{Code::kProtocol, "its answer " + what};
  };
  auto json = parse_json(output);
  if (!json.ok()) {
    return bad("is no JSON");
  }
  const std::string* kind = find_string(*json, "kind");
  const std::string* version = find_string(*json, "apiVersion");
  if (kind == nullptr || *kind != "ExecCredential" || version == nullptr) {
    return bad("is no ExecCredential");
  }
  if (*version != api_version) {
    return bad("is of version " + escape_text(*version, 60) + ", asked for was " +
               escape_text(api_version, 60));
  }
  const Json* status = find_member(*json, "status");
  const auto text = [&](std::string_view name) {
    const std::string* value = status == nullptr ? nullptr : find_string(*status, name);
    return value == nullptr ? std::string() : *value;
  };
  ExecCredential credential{text("token"), text("clientCertificateData"), text("clientKeyData")};
  if (credential.certificate.empty() != credential.key.empty()) {
    return bad("has half a client certificate");
  }
  if (credential.token.empty() && credential.certificate.empty()) {
    return bad("has neither a token nor a client certificate");
  }
  if (!is_header_value(credential.token)) {
    return bad("has a token with control characters");
  }
  return credential;
}

}  // namespace agentbox::provision::kube
