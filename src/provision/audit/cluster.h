// pure: what an audit tells of the boxes of one namespace of a cluster, out of its objects alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "provision/audit/paper.h"

namespace agentbox::provision::audit {

/// The objects of a namespace, as the API lists them; anybody may have made them.
struct NamespaceFacts {  // NOLINT(bugprone-exception-escape): the library's JSON value moves with
                         // assertions
  std::string ns;
  std::int64_t now = 0;  ///< Unix seconds
  std::vector<Json> sandboxes;
  std::vector<Json> pods;
  std::vector<Json> policies;
  std::vector<Json> pipes;
  std::vector<std::string> unseen;  ///< kinds that could not be listed, each with why
};

/// A paper for each Sandbox that agentbox-provision made, and one for the namespace itself: Pipes,
/// policies, and what could not be seen.
[[nodiscard]] std::vector<BoxPaper> describe_namespace(const NamespaceFacts& facts);

}  // namespace agentbox::provision::audit
