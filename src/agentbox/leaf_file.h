// edge: the file that a name was found to be: opened, compared, and still there.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "agentbox/workspace.h"

namespace agentbox::mcp {

/// Content hashed for if_sha256; beyond it a call would take longer than clients wait.
inline constexpr std::uint64_t kMaxHashBytes = 4ULL << 30;

/// Somebody else changed what a call was about; MESSAGE says what is on disk now.
[[nodiscard]] ToolError conflict(const std::string& shown, std::string message);

/// Refuses names that only unfinished writes have: they are hidden and removed.
[[nodiscard]] std::optional<ToolError> refuse_temporary_name(const Leaf& leaf,
                                                             const std::string& shown);

/// What LEAF's name stands for by now, to be asked once its lock is held: another call may have put
/// a file there. What is no regular file is left to open_leaf to find.
void look_again(Leaf& leaf);

/// Opens the regular file that LEAF was found to be; CONFLICT where the name is another by now.
/// NOTHING_DONE ends that message.
[[nodiscard]] Outcome<UniqueFd> open_leaf(const Leaf& leaf, const std::string& shown, int flags,
                                          std::string_view nothing_done);

/// Nothing where the regular file LEAF has the content WANTED, else PRECONDITION_FAILED with the
/// hash it has, or why it could not be read.
[[nodiscard]] std::optional<ToolError> require_sha256(const Leaf& leaf, const std::string& shown,
                                                      const std::string& wanted,
                                                      std::string_view nothing_done,
                                                      const std::function<bool()>& cancelled);

/// The EEXIST of a name that was to be free.
[[nodiscard]] ToolError exists_already(const std::string& shown);

/// The PRECONDITION_FAILED of a file that is not there.
[[nodiscard]] ToolError missing_sha256(const std::string& shown);

/// The PRECONDITION_FAILED of a file that has the hash ACTUAL.
[[nodiscard]] ToolError wrong_sha256(const std::string& shown, const std::string& actual,
                                     std::string_view nothing_done);

}  // namespace agentbox::mcp
