// pure: which cluster, as whom, in which namespace: what a kubeconfig and the flags come to, and
// what is refused before anything is read or sent.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "provision/http_message.h"
#include "provision/kube/kubeconfig.h"

namespace agentbox::provision::kube {

/// `--context` and `--namespace`; empty: what the kubeconfig says.
struct Overrides {
  std::string context;
  std::string ns;
};

/// How a command finds its cluster.
struct AccessOptions {
  std::string kubeconfig;  ///< --kubeconfig
  Overrides overrides;
  std::string exec_plugins;   ///< --exec-plugins
  bool port_forward = false;  ///< --port-forward: boxes are reached through the cluster's API
};

struct Chosen {
  std::string context;  ///< empty: in-cluster
  std::string ns;
  Cluster cluster;
  User user;
};

/// The context that counts, with its cluster and user. Refused (Code::kDenied): http, skipping the
/// verification, two ways to log in at once, half a client certificate, impersonation without a
/// user, an exec plugin of a version that is not v1 or v1beta1.
[[nodiscard]] Result<Chosen> choose(const Kubeconfig& config, const Overrides& overrides);

/// The service account of the pod that this runs in. HOST and PORT are the variables
/// KUBERNETES_SERVICE_*, TOKEN_FILE and CA_FILE the mounted files.
struct InCluster {
  std::string host;
  std::string port;
  std::string token_file;
  std::string ca_file;
  std::string ns;
};
[[nodiscard]] Result<Chosen> choose_in_cluster(const InCluster& facts, const Overrides& overrides);

/// `https://HOST[:PORT][/PREFIX]` in its parts. No user, query or fragment.
struct ServerUrl {
  std::string host;  ///< without brackets
  std::uint16_t port = 443;
  std::string prefix;  ///< empty, or `/...` without a slash at its end
  /// `HOST:PORT`, an IPv6 address in brackets.
  [[nodiscard]] std::string authority() const;
};
[[nodiscard]] Result<ServerUrl> parse_server_url(std::string_view url);

/// True for http, https and socks5 with a host.
[[nodiscard]] bool is_proxy_url(std::string_view url);

/// `Impersonate-*`, each value checked: one with control characters would be a header of its own.
[[nodiscard]] Result<std::vector<Header>> impersonation_headers(const Impersonation& as);
/// True for printable ASCII and UTF-8 bytes: no controls, no line ends.
[[nodiscard]] bool is_header_value(std::string_view value);

/// True for a name of a namespace or another object that is one DNS label.
[[nodiscard]] bool is_dns_label(std::string_view text);
/// True for labels with dots between, at most 253 bytes.
[[nodiscard]] bool is_dns_name(std::string_view text);

}  // namespace agentbox::provision::kube
