// pure: a kubeconfig, and what an exec plugin prints, from anybody.
#include <cstdint>
#include <string_view>

#include "provision/kube/connection.h"
#include "provision/kube/exec_credential.h"

using namespace agentbox::provision::kube;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(
      reinterpret_cast<const char*>(data),
      size);  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast): bytes as text
  static_cast<void>(parse_exec_credential(text, "client.authentication.k8s.io/v1"));
  static_cast<void>(parse_server_url(text));
  const auto config = parse_kubeconfig(text, "/folder");
  if (config.ok()) {
    const auto chosen = choose(merge({*config, *config}), {});
    if (chosen.ok() && !chosen->cluster.server.starts_with("https://")) {
      __builtin_trap();
    }
  }
  return 0;
}
