// pure: exec plugins: whether one may run, what it is told, and what its answer means.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "provision/kube/kubeconfig.h"

namespace agentbox::provision::kube {

/// `--exec-plugins`: a kubeconfig can name any program, so an operator may say which.
struct ExecPolicy {
  enum class Mode : std::uint8_t { kAllowAll, kAllowListed, kDeny };
  Mode mode = Mode::kAllowAll;
  std::vector<std::string> allowed;  ///< a command as the kubeconfig has it, or its resolved path
};
/// Empty (all), `deny`, or `allow=A,B`.
[[nodiscard]] Result<ExecPolicy> parse_exec_policy(std::string_view text);

/// COMMAND is the plugin's as the kubeconfig has it, PATH the file that would be run.
[[nodiscard]] Status may_run(const ExecPolicy& policy, const std::string& command,
                             const std::string& path);

/// KUBERNETES_EXEC_INFO. CA is the cluster's PEM, however it was given.
[[nodiscard]] std::string exec_info(const ExecPlugin& plugin, const Cluster& cluster,
                                    const std::string& ca, bool interactive);

/// What a plugin gave: a token, a client certificate with its key, or both.
struct ExecCredential {
  std::string token;
  std::string certificate;
  std::string key;
};

/// The plugin's standard output: an ExecCredential of the version that was asked for, with a token
/// or both halves of a certificate. An error never has a part of the output in it.
[[nodiscard]] Result<ExecCredential> parse_exec_credential(std::string_view output,
                                                           const std::string& api_version);

}  // namespace agentbox::provision::kube
