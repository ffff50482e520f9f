// edge: the method completion/complete: what the beginning of an argument may become.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "agentbox/call.h"
#include "agentbox/method.h"

namespace agentbox::mcp {

/// Values in one reply; the protocol allows no more.
inline constexpr std::size_t kMaxCompletions = 100;

/// Names that begin with BEGUN, a path from the workspace's root; folders end with a slash.
[[nodiscard]] std::vector<std::string> complete_path(std::string_view begun, CallContext& context);
/// The same for the variable of the file template: an absolute path without its first slash,
/// percent-encoded.
[[nodiscard]] std::vector<std::string> complete_file_uri(std::string_view begun,
                                                         CallContext& context);
/// Names and ids of processes.
[[nodiscard]] std::vector<std::string> complete_process(std::string_view begun,
                                                        CallContext& context);
/// Branches and tags of the repository in the workspace's root. Git is not run for it.
[[nodiscard]] std::vector<std::string> complete_revision(std::string_view begun,
                                                         CallContext& context);

[[nodiscard]] std::vector<Method> completion_methods();

}  // namespace agentbox::mcp
