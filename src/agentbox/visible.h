// pure: shows characters that a reader would not see, or that would act on the reader's terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace agentbox::mcp {

/// True for ESC and the other C0 controls except tab and newline, DEL, C1, bidi controls and tags.
[[nodiscard]] bool is_disturbing(char32_t character);

/// One character of UTF-8 text, or one byte that is none.
struct Character {
  char32_t value = 0;  ///< the byte's value where it is not valid
  std::size_t bytes = 1;
  bool valid = false;
};
/// The first character of BYTES, which must not be empty.
[[nodiscard]] Character first_character(std::string_view bytes);

struct Visible {
  std::string text;         ///< valid UTF-8
  std::size_t changed = 0;  ///< characters and bytes that are shown as something else
};
/// Disturbing characters become \u{1b}, bytes that are not UTF-8 \x{ff}; a carriage return right
/// before a newline stays.
[[nodiscard]] Visible make_visible(std::string_view bytes);

}  // namespace agentbox::mcp
