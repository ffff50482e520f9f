// pure: a Sandbox, or a claim and the Sandbox that it got, as the cluster shows them, read back
// into what we know of a box.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "provision/answer.h"
#include "provision/box.h"
#include "provision/gateway.h"
#include "provision/report.h"

namespace agentbox::provision::kube {

/// What a Sandbox says of its run.
struct RunFacts {
  State state = State::kPending;
  std::string reason;        ///< the cluster's words where it is not running, escaped
  bool hopeless = false;     ///< no waiting helps
  bool may_recover = false;  ///< the controller failed, and tries again by itself
  bool wants_to_run = true;
  bool being_deleted = false;
};
[[nodiscard]] RunFacts run_facts(const Json& sandbox);

struct SandboxFacts : RunFacts {
  std::string uid;      ///< of the object that is the box: the Sandbox, or the claim
  std::string sandbox;  ///< the Sandbox's own name; empty: the claim has got none yet
  std::string pool;     ///< that it was claimed from; empty: it is a Sandbox of its own
  std::string sandbox_uid;
  std::string host;      ///< the Service's name, or empty where there is none yet
  std::string host_key;  ///< `ssh-ed25519 BASE64`; empty: not known yet, and no key is written
  std::vector<NamedKey> keys;
  std::vector<NamedKey> authorities;  ///< CAs whose certificates are taken
  std::vector<std::string> revoked;   ///< lines of the door's file: fingerprints, `serial:N`
  std::uint64_t generation = 0;
  std::string egress;  ///< what the box may reach, as it was asked for; escaped
  std::string pod;
  Gateway gateway;  ///< through which clients reach it
  /// Whom the door itself lets in: the gateway's own key behind sshpiper, else KEYS.
  std::vector<NamedKey> door_keys;
  /// Behind sshpiper: what is wrong with the box's Pipe, in words; and whether there is one.
  std::vector<std::string> pipe_problems;
  bool has_pipe = false;
  std::string retained;  ///< the volume that outlives the box; empty: it has none
};

/// Behind sshpiper: KEYS become those of the box's Pipe, LIVE (null: there is none), and what is
/// wrong with it is noted.
[[nodiscard]] Done add_pipe(const Json* live, const BoxName& name, const std::string& ns,
                            SandboxFacts& facts);

/// True where OBJECT's labels say that agentbox-provision made it for the box NAME.
[[nodiscard]] bool is_labelled(const Json& object, const BoxName& name);

/// SANDBOX of the box NAME in namespace NS. Refused where it is not one that agentbox-provision
/// made, or where a value that would be printed or connected to is not of its grammar.
[[nodiscard]] Answer<SandboxFacts> read_sandbox(const Json& sandbox, const BoxName& name,
                                                const std::string& ns);

/// The box NAME that is CLAIM and SANDBOX, the one that its status names (null: there is none).
/// Refused as above, and where SANDBOX is not CLAIM's. While SANDBOX is there it says how the box
/// is: what is said of the claim itself may lag behind for ever.
[[nodiscard]] Answer<SandboxFacts> read_claim(const Json& claim, const Json* sandbox,
                                              const BoxName& name, const std::string& ns);
/// The name of the Sandbox that CLAIM got, or empty. Refused where it is no name.
[[nodiscard]] Answer<std::string> sandbox_of_claim(const Json& claim);
/// How a claim without a Sandbox gets on: what it waits for, or why it waits in vain.
[[nodiscard]] RunFacts claim_facts(const Json& claim);

/// The name of SANDBOX's pod.
[[nodiscard]] std::string pod_of_sandbox(const Json& sandbox);

/// True where OWNED's owner references name the object with UID; UID empty: any of kind KIND.
[[nodiscard]] bool is_owned(const Json& owned, std::string_view kind, std::string_view uid);

/// Why POD, which must be SANDBOX_UID's, cannot say what its host key was at its first start;
/// empty: it can.
[[nodiscard]] std::string no_first_start(const Json& pod, const std::string& sandbox_uid);

/// The generation of keys that SANDBOX gives its pod; 0: none.
[[nodiscard]] std::uint64_t sandbox_generation(const Json& sandbox);
/// The generation of keys that POD has; 0: none.
[[nodiscard]] std::uint64_t pod_generation(const Json& pod);

/// Why the API group NAME (GROUP is the JSON of /apis/NAME) is not one that we speak; empty: it is.
[[nodiscard]] std::string unsupported(const Json& group, std::string_view name = "agents.x-k8s.io");

}  // namespace agentbox::provision::kube
