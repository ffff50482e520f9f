// pure: the paths callers write and the names we show them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agentbox/outcome.h"

namespace agentbox::mcp {

/// One path argument, in bytes; the kernel's PATH_MAX.
inline constexpr std::size_t kMaxPathBytes = 4096;

/// Temporary files of an unfinished write. Listings hide names that begin like this, and the next
/// start of the box removes them.
inline constexpr std::string_view kTemporaryPrefix = ".agentbox-tmp-";

/// True for a name that a write of ours made up.
[[nodiscard]] bool is_temporary_name(std::string_view name);

/// The folders a path may lie in.
enum class Root { kWorkspace, kOutput };

/// A path inside one root. `relative` never starts with '/', is never empty ("." is the root) and
/// may still hold links and "..": whoever opens it must stay beneath the root.
struct BoxPath {
  Root root = Root::kWorkspace;
  std::string relative = ".";
};

/// The absolute names a root goes by.
struct RootNames {
  std::vector<std::string> workspace;  ///< the one shown first
  std::vector<std::string> output;     ///< empty: there is no output folder
};

/// Reads a path argument: relative to the workspace, or absolute and inside a root. A path in
/// double quotes is unquoted first (see quote_name). Names are bytes; NUL is refused.
[[nodiscard]] Outcome<BoxPath> parse_box_path(std::string_view given, const RootNames& names);

/// What is left of PATH below the first of ROOTS it starts with ("." for the root itself); empty
/// where it starts with none.
[[nodiscard]] std::string below_root(std::string_view path, std::span<const std::string> roots);

/// The argument `path` of every tool that works on one file.
[[nodiscard]] Argument file_path_argument();
/// Of what is moved or copied.
[[nodiscard]] Argument source_argument();
[[nodiscard]] Argument destination_argument();

/// The absolute name of PATH in bytes: "." components and doubled slashes are gone.
[[nodiscard]] std::string absolute_path(const BoxPath& path, const RootNames& names);

/// The same as shown.
[[nodiscard]] std::string show_path(const BoxPath& path, const RootNames& names);

/// The file: URI of PATH, percent-encoded.
[[nodiscard]] std::string file_uri(const BoxPath& path, const RootNames& names);

/// NAME as it stands where that is plain UTF-8; else in double quotes with C escapes: \" \\ \t \n
/// \r and \ooo (three octal digits) for control characters, and for every byte of what is not UTF-8
/// or would disturb the reader (C1, bidi and tag characters). Every path argument accepts it.
[[nodiscard]] std::string quote_name(std::string_view name);

/// The bytes of a quoted name; an error where quote_name() could not have written it.
[[nodiscard]] Outcome<std::string> unquote_name(std::string_view quoted);

}  // namespace agentbox::mcp
