// pure: an edit of any bytes changes what it names and nothing else, and its difference can be
// shown.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "agentbox/diff.h"
#include "agentbox/edit.h"

namespace {

using namespace agentbox::mcp;

void expect(bool holds) {
  if (!holds) {
    std::abort();
  }
}

std::string without_returns(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != '\r') {
      out.push_back(c);
    }
  }
  return out;
}

// The next piece of INPUT up to a zero byte.
std::string take(std::string_view& input) {
  const std::size_t end = std::min(input.find('\0'), input.size());
  std::string piece(input.substr(0, end));
  input.remove_prefix(std::min(end + 1, input.size()));
  return piece;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const TextEdit edit{.old_text = take(input), .new_text = take(input)};
  const std::string content(input);
  const auto result = apply_edits(content, std::vector<TextEdit>{edit});
  if (!result.ok()) {
    expect(!result.error().code.empty() && !result.error().hint.empty());
    return 0;
  }
  expect(result->replacements == 1);
  // Apart from line ends it is the plain replacement at the one place.
  const std::string plain = without_returns(content);
  const std::string old_text = without_returns(edit.old_text);
  const std::string new_text = without_returns(edit.new_text);
  bool is_plain = false;
  for (std::size_t at = plain.find(old_text); !is_plain && at != std::string::npos;
       at = plain.find(old_text, at + 1)) {
    std::string replaced = plain;
    replaced.replace(at, old_text.size(), new_text);
    is_plain = replaced == without_returns(result->text);
  }
  expect(is_plain);
  const UnifiedDiff diff = unified_diff(content, result->text, "f", 2000);
  expect(!diff.text.empty() && diff.text.size() <= 2000);
  return 0;
}
