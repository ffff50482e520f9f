// pure: a box behind sshpiper: its Pipe, the Secret with the key with which the gateway logs in at
// the box, and what is wrong with a Pipe, be it ours or not.
//
// Both lie in the gateway's namespace: sshpiper looks for a Secret in the namespace of its Pipe. An
// owner in another namespace would have them removed at once, so only beside their Sandbox they
// have one; elsewhere their labels say whose they are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "provision/answer.h"
#include "provision/box.h"
#include "provision/gateway.h"

namespace agentbox::provision::kube {

inline constexpr const char* kBoxNamespaceLabel = "agentbox.internal/box-namespace";
/// On the Secret and on the Pipe: the public half of the key with which the gateway logs in.
inline constexpr const char* kUpstreamAnnotation = "agentbox.internal/upstream-key";
/// The Secret's type and member that sshpiper reads.
inline constexpr const char* kUpstreamType = "kubernetes.io/ssh-auth";
inline constexpr const char* kUpstreamMember = "ssh-privatekey";

[[nodiscard]] std::string pipe_name(const BoxName& name);
[[nodiscard]] std::string upstream_name(const BoxName& name);

/// Everything that a box's Pipe says.
struct PipePlan {
  BoxName name;
  std::string box_ns;
  std::string box_uid;  ///< of the Sandbox; empty: not made yet
  Gateway gateway;
  std::string box_host;        ///< the Service's name
  std::string box_host_key;    ///< `ssh-ed25519 BASE64`
  std::string upstream_key;    ///< the public half, `ssh-ed25519 BASE64`
  std::vector<NamedKey> keys;  ///< who may enter: never none, that would let any password in
};
[[nodiscard]] OrderedJson pipe(const PipePlan& plan);

/// Refused where KEYS would count for more, or less, behind sshpiper than they say: the box sees
/// one key for all of them, so none can have a role of its own.
[[nodiscard]] Done check_piped_keys(const std::vector<NamedKey>& keys);

/// The Secret with the gateway's key for one box; PRIVATE_KEY empty: without it, to be shown.
[[nodiscard]] OrderedJson upstream_secret(const BoxName& name, const std::string& box_ns,
                                          const std::string& ns, const std::string& public_key,
                                          const std::string& private_key);
/// What changes it into one with another key.
[[nodiscard]] OrderedJson upstream_change(const std::string& public_key,
                                          const std::string& private_key);

/// True where OBJECT's labels say that it belongs to the box NAME of namespace BOX_NS.
[[nodiscard]] bool is_of_box(const Json& object, const BoxName& name, const std::string& box_ns);

/// A Pipe of ours as the cluster has it.
struct PipeFacts {
  std::vector<NamedKey> keys;
  std::string upstream_key;
  std::vector<std::string> problems;  ///< where it is not what we made, in words
};
/// LIVE read back. PLAN's keys and upstream key are not looked at. Refused where it is not the Pipe
/// of that box, or where its keys cannot be read.
[[nodiscard]] Answer<PipeFacts> read_pipe(const Json& live, PipePlan plan);

/// What is weak or broken in any Pipe, in words; empty: nothing that we know of.
[[nodiscard]] std::vector<std::string> pipe_weaknesses(const Json& pipe);

/// Why somebody who logs in as NAME could be sent along one of PIPES that is not the box's own, or
/// why logins fail at all because of one; empty: neither.
[[nodiscard]] std::string username_clash(const std::vector<Json>& pipes, const BoxName& name,
                                         const std::string& box_ns);

/// Why the API group of Pipes (the JSON of /apis/sshpiper.com) is not one that we speak; empty: it
/// is.
[[nodiscard]] std::string pipes_unsupported(const Json& group);

/// The Role that a gateway needs for BOXES: it watches Pipes, and reads those boxes' Secrets alone.
[[nodiscard]] OrderedJson gateway_role(const std::vector<BoxName>& boxes, const std::string& ns);

}  // namespace agentbox::provision::kube
