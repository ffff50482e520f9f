// pure: a box in a cluster as the objects it is made of.
//
// Two containers of one pod: `door` has the host key, the keys and the audit, `box` the workspace
// and all that the agent runs. They share the network and one volume that only door can write: M's
// socket. The objects are applied in the order POLICY, HOST KEY, SANDBOX, KEYS.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "provision/box.h"
#include "provision/kube/api.h"
#include "provision/kube/kube_spec.h"

namespace agentbox::provision::kube {

inline constexpr const char* kBaseManager = "agentbox-provision";
inline constexpr const char* kKeysManager = "agentbox-keys";
/// Owns whether the box runs: with the base it would go back to running at each apply, and a patch
/// beside an apply of the same name is a conflict.
inline constexpr const char* kModeManager = "agentbox-mode";

/// Wrote the host key that took the place of the first.
inline constexpr const char* kHostKeyManager = "agentbox-hostkey";

inline constexpr const char* kManagedByLabel = "app.kubernetes.io/managed-by";
inline constexpr const char* kManagedBy = "agentbox-provision";
inline constexpr const char* kBoxLabel = "agentbox.internal/box";
inline constexpr const char* kTemplateLabel = "agentbox.internal/template";
inline constexpr const char* kHostKeyAnnotation = "agentbox.internal/host-key";
/// What the policy was rendered for, so that a look at the Sandbox tells it.
inline constexpr const char* kEgressAnnotation = "agentbox.internal/egress";
/// The box's gateway: parse_gateway()'s two texts, and its host key. None of them: no gateway.
inline constexpr const char* kGatewayAnnotation = "agentbox.internal/gateway";
inline constexpr const char* kGatewayAddressAnnotation = "agentbox.internal/gateway-address";
inline constexpr const char* kGatewayHostKeyAnnotation = "agentbox.internal/gateway-host-key";
/// Whose pods may connect, where not everybody's.
inline constexpr const char* kIngressAnnotation = "agentbox.internal/ingress";
inline constexpr const char* kKeysAnnotation = "agentbox.internal/authorized-keys";
inline constexpr const char* kGenerationAnnotation = "agentbox.internal/keys-generation";
inline constexpr const char* kRevokedAnnotation = "agentbox.internal/revoked";
inline constexpr const char* kUserCaAnnotation = "agentbox.internal/user-ca";

inline constexpr const char* kHostKeyFile = "ssh_host_ed25519_key";
inline constexpr std::uint16_t kDoorPort = 2222;
/// An annotation past this is taken by the cluster and then breaks the pod (256 KiB in all).
inline constexpr std::size_t kMaxKeysBytes = 64U << 10U;

[[nodiscard]] std::string policy_name(const BoxName& name);
[[nodiscard]] std::string host_key_name(const BoxName& name);
/// Of the volume that outlives its box.
[[nodiscard]] std::string data_name(const BoxName& name);

/// The volume that outlives its box; for a SPEC that retains its data.
[[nodiscard]] OrderedJson retained_claim(const BoxName& name, const std::string& ns,
                                         const KubeSpec& spec);

/// Only the door's port comes in, and behind sshpiper only its pods'; only what SPEC says goes out.
[[nodiscard]] OrderedJson network_policy(const BoxName& name, const std::string& ns,
                                         const KubeSpec& spec);
/// The Secret with the door's host key; PRIVATE_KEY empty: without it, to be shown. PUBLIC_KEY is
/// `ssh-ed25519 BASE64`.
[[nodiscard]] OrderedJson host_key_secret(const BoxName& name, const std::string& ns,
                                          const std::string& public_key,
                                          const std::string& private_key);
/// The Sandbox without its keys and without its mode, which other managers own.
[[nodiscard]] OrderedJson sandbox(const BoxName& name, const std::string& ns, const KubeSpec& spec,
                                  const std::string& public_key);
/// Who may enter, and who never may again.
struct DoorKeys {
  std::vector<NamedKey> keys;
  std::vector<std::string> revoked;  ///< lines of the door's file: fingerprints, `serial:N`
  std::uint64_t generation = 1;
  std::vector<NamedKey> authorities = {};  ///< CAs whose certificates are taken
};
/// The object that a box's keys are written into, and where in it: the annotations there become the
/// pod's.
struct KeysPlace {
  Resource kind;
  std::string object;
  std::string path;  ///< of the map, as find_path() takes it
};
/// A Sandbox that is called OBJECT.
[[nodiscard]] KeysPlace in_sandbox(const std::string& object);
/// The SandboxClaim that is called OBJECT: the controller copies them to its Sandbox.
[[nodiscard]] KeysPlace in_claim(const std::string& object);
/// The part of the object at PLACE that kKeysManager owns. Code::kLimit where the keys are too
/// many.
[[nodiscard]] Result<OrderedJson> keys_part(const KeysPlace& place, const std::string& ns,
                                            const DoorKeys& door);
/// keys_part() of the Sandbox of the box NAME.
[[nodiscard]] Result<OrderedJson> sandbox_keys(const BoxName& name, const std::string& ns,
                                               const DoorKeys& door);

/// What the pods of a pool are made from. It has neither a host key nor anything of a box in it,
/// and none of the annotations that a claim sets: one that both name breaks the claim. The
/// NetworkPolicy of its boxes is in it, so that the cluster adds none that closes the door's port.
[[nodiscard]] OrderedJson sandbox_template(const BoxName& name, const std::string& ns,
                                           const KubeSpec& spec);
/// The Sandbox that a pool would make of sandbox_template(NAME), to be tried out.
[[nodiscard]] OrderedJson sandbox_of_template(const BoxName& name, const std::string& ns,
                                              const KubeSpec& spec);
/// REPLICAS: how many pods wait; nothing: somebody else decides it (an autoscaler).
[[nodiscard]] OrderedJson warm_pool(const BoxName& name, const std::string& ns,
                                    const BoxName& from_template,
                                    std::optional<std::uint64_t> replicas);
/// The claim of a box NAME on a pod of POOL, without its keys. PUBLIC_KEY: the host key, once it is
/// known, else empty.
[[nodiscard]] OrderedJson sandbox_claim(const BoxName& name, const std::string& ns,
                                        const std::string& pool, const std::string& public_key);

/// The part of the Sandbox OBJECT that kModeManager owns. MODE is Running or Suspended.
[[nodiscard]] OrderedJson sandbox_mode(const std::string& object, const std::string& ns,
                                       const std::string& mode);

/// The keys that an annotation of ours holds, with their labels.
[[nodiscard]] Result<std::vector<NamedKey>> parse_keys_annotation(std::string_view text);

/// The lines of the annotation of revoked keys and certificates.
[[nodiscard]] Result<std::vector<std::string>> parse_revoked_annotation(std::string_view text);

/// N of `serial:N`.
[[nodiscard]] Result<std::uint64_t> serial_of(std::string_view line);

/// Where LIVE lacks or changes what WANTED has, as `path: is X, asked for is Y`; what LIVE has
/// besides (defaults, other managers' fields) counts as the same. Lists must be equally long.
[[nodiscard]] std::vector<std::string> changes_between(const OrderedJson& wanted, const Json& live);

/// What a pod has that SANDBOX's template has not (containers, volumes, mounts, variables, host
/// namespaces, a service account's token), and what it has otherwise. Empty: none of these.
[[nodiscard]] std::vector<std::string> additions_of(const Json& pod, const OrderedJson& sandbox);

}  // namespace agentbox::provision::kube
