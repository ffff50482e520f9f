// edge: what a resource holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "agentbox/call.h"
#include "agentbox/call_history.h"
#include "agentbox/outcome.h"
#include "agentbox/resource_uri.h"
#include "agentbox/settings.h"
#include "base/json.h"

namespace agentbox::mcp {

/// The content of one resource: in base64 and with what is around it, it still fits one reply.
inline constexpr std::size_t kMaxResourceBytes = 5UL << 20;

struct ResourceContent {
  std::string bytes;
  std::string mime_type = "text/plain";
  bool is_text = true;    ///< bytes are UTF-8 that fits a reply as JSON text
  OrderedJson meta = {};  ///< null, or an object: what else is to be known of it
};

/// Errors: those of files, UNKNOWN_PROCESS, TOO_LARGE; ENOENT for what ROLE may not see.
[[nodiscard]] Outcome<ResourceContent> read_resource(const ResourceUri& uri, Role role,
                                                     const CallHistory& history,
                                                     CallContext& context);

/// Whether ROLE may see the calls of its session.
[[nodiscard]] bool may_see_audit(Role role);

}  // namespace agentbox::mcp
