// pure: a system error as the error an agent reads.
#pragma once

#include <string>
#include <string_view>

#include "agentbox/tool.h"
#include "base/result.h"

namespace agentbox::mcp {

/// "ENOENT" and the like; "EIO" for numbers without a name of ours. EXDEV is ESCAPE: in this
/// program it only comes from opening a path that leaves its root.
[[nodiscard]] std::string_view error_code_name(int number);

/// The error of doing DOING ("open", "write") to PATH (as shown) that the kernel refused with
/// NUMBER, with the hint that fits.
[[nodiscard]] ToolError os_error(std::string_view doing, std::string_view path, int number);

/// The same where what is at PATH was to be replaced: the hint says why that does not go.
[[nodiscard]] ToolError replace_error(std::string_view doing, std::string_view path, int number);

/// The same for an Error of base; one without errno becomes INTERNAL.
[[nodiscard]] ToolError os_error(std::string_view path, const Error& error);

/// Why PROGRAM could not be started, as SPAWN_FAILED.
[[nodiscard]] ToolError spawn_failed(std::string_view program, int number);

}  // namespace agentbox::mcp
