// pure: see name.h.
#include "provision/name.h"

#include <algorithm>

#include "base/text.h"

namespace agentbox::provision {
namespace {

bool is_letter(char c) { return c >= 'a' && c <= 'z'; }
bool is_letter_or_digit(char c) { return is_letter(c) || (c >= '0' && c <= '9'); }

}  // namespace

Result<BoxName> BoxName::parse(std::string_view text) {
  const bool good = !text.empty() && text.size() <= kMaxNameBytes && is_letter(text.front()) &&
                    is_letter_or_digit(text.back()) &&
                    std::all_of(text.begin(), text.end(),
                                [](char c) { return is_letter_or_digit(c) || c == '-'; });
  if (!good) {
    return Error{Code::kInvalid, "'" + escape_text(text, 80) +
                                     "' is no name of a box: a small letter, then small letters, "
                                     "digits and inner hyphens, at most 52 characters"};
  }
  return BoxName(text);
}

}  // namespace agentbox::provision
