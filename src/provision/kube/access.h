// edge: the operator's way into a cluster: kubeconfig files, what they name, exec plugins, or the
// service account of the pod that this runs in.
#pragma once

#include <chrono>
#include <string>

#include "provision/answer.h"
#include "provision/kube/connection.h"
#include "provision/kube/exec_credential.h"

namespace agentbox::provision::kube {

inline constexpr std::size_t kMaxKubeconfigBytes = 1U << 20U;
/// Tokens, certificates, keys and what a plugin prints.
inline constexpr std::size_t kMaxCredentialBytes = 1U << 20U;
/// A plugin may have to ask an identity provider; one that takes longer hangs.
inline constexpr std::chrono::seconds kExecPluginTime{60};

/// All that a connection needs, read and checked. The secrets in it go to the TLS library and into
/// one header, nowhere else.
struct Access {
  ServerUrl server;
  std::string tls_server_name;
  std::string proxy_url;       ///< empty: none, whatever the environment says
  bool heed_no_proxy = false;  ///< the proxy is the environment's, so its NO_PROXY counts too
  std::string ca;              ///< PEM; empty: the system's trust store
  std::string certificate;     ///< PEM, or empty
  std::string key;
  std::string authorization;  ///< the header's value, or empty
  std::vector<Header> impersonation;
  std::string ns;
  std::string context;
};

/// Reads the kubeconfig that counts, merged; without any, the pod's service account. A file that
/// others can write is refused: it can name any program and any server.
[[nodiscard]] Answer<Chosen> find_cluster(const AccessOptions& options);
/// Reads what CHOSEN names, and runs its exec plugin where it has one and nothing else to log in
/// with.
[[nodiscard]] Answer<Access> open_access(const Chosen& chosen, const AccessOptions& options);

}  // namespace agentbox::provision::kube
