// pure: the lines of a file that lists things, one a line, as all but authorized_keys are written.
#pragma once

#include <algorithm>
#include <string_view>

#include "base/result.h"

namespace agentbox::sshd {

/// TAKE(line, number) for each line of TEXT that says something, without the blanks around it: a
/// BOM, blank lines, `#` lines and CRLF are skipped. The first Error ends it.
template <typename Take>
[[nodiscard]] Status for_each_listed(std::string_view text, const Take& take) {
  constexpr std::string_view kBom = "\xef\xbb\xbf";
  constexpr std::string_view kBlanks = " \t\r";
  text.remove_prefix(text.starts_with(kBom) ? kBom.size() : 0);
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    line = line.substr(0, line.find_last_not_of(kBlanks) + 1);
    if (!line.empty() && line.front() != '#') {
      AB_CHECK(take(line, number));
    }
  }
  return {};
}

}  // namespace agentbox::sshd
