// pure: choosing lines and whole characters out of a file's bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace agentbox::mcp {

/// The first COUNT lines of BYTES (with their newlines); all of it where there are fewer.
[[nodiscard]] std::string_view first_lines(std::string_view bytes, std::size_t count);
/// The last COUNT lines; a newline at the very end does not start another line.
[[nodiscard]] std::string_view last_lines(std::string_view bytes, std::size_t count);
/// Lines in BYTES; a last one without newline counts.
[[nodiscard]] std::size_t count_lines(std::string_view bytes);

/// How lines are dressed for a reader.
struct LineStyle {
  bool numbers = false;  ///< "12\t" in front of each
  std::uint64_t first_number = 1;
  std::size_t max_bytes = 0;  ///< longer lines are cut between characters and say so; 0: never
  std::size_t max_encoded = SIZE_MAX;  ///< bytes the lines together may take as JSON text
};
struct Dressed {
  std::string text;
  std::size_t lines = 0;  ///< whole lines taken; the others do not fit into max_encoded
  bool cut = false;       ///< a line lost something
};
[[nodiscard]] Dressed dress_lines(std::string_view text, const LineStyle& style);

/// Bytes that TEXT takes inside a JSON string, valid UTF-8 taken for granted.
[[nodiscard]] std::size_t encoded_size(std::string_view text);

/// A piece of a file cut so that no character is split.
struct Trimmed {
  std::size_t start = 0;  ///< bytes left out in front, which belong to a character before
  std::string_view bytes;
};
/// BYTES begin anywhere in a file and end at its end only if AT_END. Where the first LIMIT bytes of
/// them are text apart from split characters at both ends, those are left out; at least one whole
/// character stays, even if longer than LIMIT. What is no text comes back as the first LIMIT bytes.
[[nodiscard]] Trimmed trim_to_characters(std::string_view bytes, std::size_t limit, bool at_start,
                                         bool at_end);

}  // namespace agentbox::mcp
