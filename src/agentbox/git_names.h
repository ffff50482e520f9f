// pure: names of git's branches and tags, as its files spell them. Agent code can write those.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace agentbox::mcp {

/// Names taken from one file or folder; a repository with more is not completed whole.
inline constexpr std::size_t kMaxGitNames = 10'000;

/// Whether NAME is a ref such as refs/heads/main, by the rules git has for names, and printable.
[[nodiscard]] bool is_ref_name(std::string_view name);

/// What people type for the ref NAME: main, v1.0, origin/main. Empty where it is neither a branch
/// nor a tag.
[[nodiscard]] std::string short_ref_name(std::string_view name);

/// The refs in a packed-refs file; lines that are none are passed over.
[[nodiscard]] std::vector<std::string> read_packed_refs(std::string_view text);

}  // namespace agentbox::mcp
