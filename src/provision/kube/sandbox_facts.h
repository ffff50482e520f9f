// pure: a Sandbox as the cluster shows it, read back into what we know of a box.
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

struct SandboxFacts {
  std::string uid;
  State state = State::kPending;
  std::string reason;        ///< the cluster's words where it is not running, escaped
  bool hopeless = false;     ///< no waiting helps
  bool may_recover = false;  ///< the controller failed, and tries again by itself
  bool wants_to_run = true;
  bool being_deleted = false;
  std::string host;      ///< the Service's name, or empty where there is none yet
  std::string host_key;  ///< `ssh-ed25519 BASE64`
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

/// The generation of keys that POD has; 0: none.
[[nodiscard]] std::uint64_t pod_generation(const Json& pod);

/// Why the API group VERSIONS (the JSON of /apis/GROUP) is not one that we speak; empty: it is.
[[nodiscard]] std::string unsupported(const Json& group);

}  // namespace agentbox::provision::kube
