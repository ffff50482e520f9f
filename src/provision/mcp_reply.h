// pure: what a box's tool server answers, which is whatever runs in the box: nothing of it is
// believed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"

namespace agentbox::provision {

/// The result of request ID where MESSAGE is the answer to it; nothing where it is something else
/// (a notification, say). A JSON-RPC error is Code::kProtocol with the server's words, escaped.
[[nodiscard]] std::optional<Result<Json>> answer_to(std::uint64_t id, const Json& message);

/// Whether TOOL is in LISTED, the result of tools/list.
[[nodiscard]] bool lists_tool(const Json& listed, const std::string& tool);

/// The text blocks of a tool's result, one after another.
[[nodiscard]] std::string text_of_result(const Json& result);
[[nodiscard]] bool is_error_result(const Json& result);

}  // namespace agentbox::provision
