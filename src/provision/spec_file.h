// pure: the YAML file of `create -f`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "provision/kube/kube_spec.h"

namespace agentbox::provision {

/// As written; paths are not resolved.
struct SpecFile {
  std::vector<std::string> keys;      ///< files with public keys
  std::vector<std::string> user_cas;  ///< files with CAs' public keys
  std::string identity;               ///< the client's private key
  std::string workspace;
  std::string isolation = "bubblewrap";  ///< or none
  std::string profile = "standard";      ///< or core, full
  std::string gateway;                   ///< as --gateway has it
  std::string gateway_address;
  std::string gateway_host_key;    ///< a file, or the key itself
  kube::KubeSpec cluster;          ///< under `kubernetes:`; checked by kube::check_spec()
  std::vector<std::string> named;  ///< the keys that are there under `kubernetes:`
};

/// Strict: an unknown key is an Error with its line.
[[nodiscard]] Result<SpecFile> parse_spec_file(std::string_view text);

}  // namespace agentbox::provision
