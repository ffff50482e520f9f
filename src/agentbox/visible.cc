// pure: see visible.h.
#include "agentbox/visible.h"

#include "base/defence.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";

void append_braced(std::string& to, char kind, char32_t value) {
  std::string digits;
  do {
    digits.push_back(kHex[value % 16]);
    value /= 16;
  } while (value != 0);
  to.append({'\\', kind, '{'});
  to.append(digits.rbegin(), digits.rend());
  to.push_back('}');
}

bool within(char32_t value, char32_t first, char32_t last) {
  return value >= first && value <= last;
}

}  // namespace

bool is_disturbing(char32_t c) {
  if (!defended("visible-text")) {
    return false;
  }
  if (c < 0x20) {
    return c != '\t' && c != '\n';
  }
  return within(c, 0x7f, 0x9f) || c == 0x61c || within(c, 0x200e, 0x200f) ||
         within(c, 0x202a, 0x202e) || within(c, 0x2066, 0x2069) || within(c, 0xe0000, 0xe007f);
}

Character first_character(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) {
    return {.value = lead, .bytes = 1, .valid = true};
  }
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (length > bytes.size() || valid_utf8_prefix(bytes.substr(0, length)) != length) {
    return {.value = lead, .bytes = 1, .valid = false};
  }
  char32_t value = lead & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    value = (value << 6) | (at(i) & 0x3fU);
  }
  return {.value = value, .bytes = length, .valid = true};
}

Visible make_visible(std::string_view bytes) {
  Visible result;
  result.text.reserve(bytes.size());
  while (!bytes.empty()) {
    const Character c = first_character(bytes);
    const bool line_end = c.value == '\r' && bytes.size() > 1 && bytes[1] == '\n';
    if (!c.valid) {
      append_braced(result.text, 'x', c.value);
      ++result.changed;
    } else if (is_disturbing(c.value) && !line_end) {
      append_braced(result.text, 'u', c.value);
      ++result.changed;
    } else {
      result.text.append(bytes.substr(0, c.bytes));
    }
    bytes.remove_prefix(c.bytes);
  }
  return result;
}

}  // namespace agentbox::mcp
