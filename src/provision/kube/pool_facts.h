// pure: templates, pools and claims as the cluster shows them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "provision/answer.h"

namespace agentbox::provision::kube {

struct TemplateFacts {
  std::string name;
  std::string uid;
  std::string door_image;  ///< this and what follows is escaped, for people
  std::string image;
  std::string egress;
};

struct PoolFacts {
  std::string name;
  std::string uid;
  std::string from_template;
  std::uint64_t replicas = 0;  ///< asked for
  std::uint64_t ready = 0;
  /// The number of replicas is ours by an earlier command: an apply without it would take it away.
  bool replicas_are_ours = false;
};

/// True where OBJECT's labels say that agentbox-provision made it.
[[nodiscard]] bool is_made_here(const Json& object);

/// Refused where agentbox-provision did not make it, or where a name in it is none.
[[nodiscard]] Answer<TemplateFacts> read_template(const Json& object);
[[nodiscard]] Answer<PoolFacts> read_pool(const Json& object);

/// The template that the pool OBJECT, whoever made it, names; empty: none that is a name.
[[nodiscard]] std::string template_of_pool(const Json& object);
/// The NetworkPolicy that the controller makes of a template of ours, for SANDBOX, which is from
/// one of its pools; empty: it is from none.
[[nodiscard]] std::string policy_of_pooled(const Json& sandbox);
/// The pool that the claim OBJECT, whoever made it, names; empty: none that is a name.
[[nodiscard]] std::string pool_of_claim(const Json& object);

/// True where somebody may enter the box of the claim OBJECT: once its pool is gone the controller
/// takes no change of its keys any more, a revocation among them.
[[nodiscard]] bool lets_somebody_in(const Json& object);

}  // namespace agentbox::provision::kube
