// pure: exact replacements in a text that keep every byte they were not asked to change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "agentbox/outcome.h"

namespace agentbox::mcp {

struct TextEdit {
  std::string old_text = {};
  std::string new_text = {};
  bool replace_all = false;
  std::optional<std::uint64_t> expected_count = {};  ///< replace exactly so many, all of them
};

struct EditedText {
  std::string text;
  std::uint64_t replacements = 0;
};

/// What edits may make of a text: each of them may multiply it.
inline constexpr std::size_t kMaxEditedTextBytes = 32UL << 20;

/// CONTENT with EDITS applied in order, each to what the one before left; all or none. Without
/// replace_all or expected_count an edit's old text must occur exactly once. Nothing is ever
/// matched approximately, but for line ends: where neither text of an edit holds a carriage return,
/// its newlines match CRLF too, lines that the edit does not change keep their bytes, and new ones
/// end as those around them do.
/// Errors: INVALID_ARGUMENT (an empty old text), NOT_FOUND_TEXT (with the closest lines),
/// AMBIGUOUS (with the line numbers), NO_CHANGE, TOO_LARGE (kMaxEditedTextBytes, after any edit).
[[nodiscard]] Outcome<EditedText> apply_edits(std::string content, std::span<const TextEdit> edits);

}  // namespace agentbox::mcp
