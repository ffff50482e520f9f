// pure: the results the server gives, as JSON texts in the form each revision wants.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "agentbox/method.h"
#include "agentbox/protocol.h"
#include "agentbox/settings.h"
#include "agentbox/tool.h"

namespace agentbox::mcp {

/// Whether a key of ROLE may call TOOL: a reader may call what changes nothing, and what is an
/// admin's only an admin.
[[nodiscard]] bool may_call(Role role, const Tool& tool);

/// METHODS tell which capabilities there are.
[[nodiscard]] std::string initialize_result(Version version, std::span<const Method> methods,
                                            std::string_view instructions);
[[nodiscard]] std::string discover_result(std::span<const Method> methods,
                                          std::string_view instructions);
/// An empty result.
[[nodiscard]] std::string empty_result(Version version);
/// The first word on the subscription that the request ID_JSON opens: what of its NOTIFICATIONS it
/// will get.
[[nodiscard]] std::string acknowledged_line(std::string_view id_json,
                                            const OrderedJson& notifications);
/// A notice that the resource URI has changed, or the list of them where it is kResourceList.
/// ID_JSON: of the subscription that it belongs to, empty for a session with a handshake.
[[nodiscard]] std::string updated_line(std::string_view id_json, const std::string& uri);
/// The last word on it.
[[nodiscard]] std::string listen_result(std::string_view id_json);
/// Whether a key of ROLE may ask for METHOD.
[[nodiscard]] bool may_ask(Role role, const Method& method);
/// The tools that ROLE may call, in table order, on one page.
[[nodiscard]] std::string tools_list_result(std::span<const Tool> tools, Role role,
                                            Version version);

/// A call's result on its way out, and what the audit says of it.
struct RenderedResult {
  std::string json;
  bool failed = false;
  std::string code;                    ///< the error's code, empty on success
  std::optional<RpcFailure> rpc = {};  ///< set: the request is answered with this instead
};

/// Encodes RESULT. One that passes kMaxResultBytes becomes a TOO_LARGE failure.
[[nodiscard]] RenderedResult render_tool_result(std::string_view tool_name,
                                                const ToolResult& result, Version version);

/// Encodes what METHOD gave back; too much becomes a failure.
[[nodiscard]] RenderedResult render_method_reply(const Method& method, MethodReply reply,
                                                 Version version);
/// The same for a method that could not be asked.
[[nodiscard]] RenderedResult render_method_failure(std::string code, std::string_view message);

/// `TOOL: CODE: message. Hint.`
[[nodiscard]] std::string error_text(std::string_view tool_name, const ToolError& error);

}  // namespace agentbox::mcp
