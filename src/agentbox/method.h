// pure: what a request besides tools/call is that needs the box: its handler, and what that gives
// back.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agentbox/call_history.h"
#include "agentbox/protocol.h"
#include "agentbox/settings.h"
#include "base/json.h"

namespace agentbox::mcp {

class CallContext;  // call.h

/// A JSON-RPC error.
struct RpcFailure {
  int code = 0;
  std::string message;
  OrderedJson data = {};  ///< null: none
};

/// What a handler returns.
struct MethodReply {
  /// The result as VERSION wants it, but for what every result of a revision has (resultType,
  /// caching, serverInfo), which the session adds.
  OrderedJson result = OrderedJson::object();
  std::optional<RpcFailure> failure = {};
};

[[nodiscard]] inline MethodReply method_failure(int code, std::string message,
                                                OrderedJson data = {}) {
  MethodReply reply;
  reply.failure = RpcFailure{.code = code, .message = std::move(message), .data = std::move(data)};
  return reply;
}

/// What a handler is given. PARAMS is always an object.
struct MethodCall {
  Version version = Version::k2025_11_25;
  Role role = Role::kAgent;
  const Json& params;
  const CallHistory& history;  ///< empty unless the method wants it
};

/// Like a tool's: plain blocking code on a worker thread that watches context.cancel_fd().
using MethodHandler = MethodReply (*)(const MethodCall& call, CallContext& context);

struct Method {
  std::string_view name;
  bool legacy = true;      ///< exists in the revisions with a handshake
  bool modern = true;      ///< exists in those without
  bool read_only = true;   ///< a key of role reader may ask for it
  bool cacheable = false;  ///< its result carries how long a client may keep it
  int ttl_ms = 0;          ///< that time
  bool wants_history = false;
  MethodHandler handler = nullptr;
};

/// The method NAME of the revisions without a handshake (MODERN), or of those with; null: there is
/// none.
[[nodiscard]] inline const Method* find_method(std::span<const Method> methods,
                                               std::string_view name, bool modern) {
  const auto at = std::find_if(methods.begin(), methods.end(), [&](const Method& one) {
    return one.name == name && (modern ? one.modern : one.legacy);
  });
  return at == methods.end() ? nullptr : &*at;
}

}  // namespace agentbox::mcp
