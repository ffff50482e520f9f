// pure: whatever a command prints, what is kept adds up, and what is shown is harmless text.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agentbox/capture.h"
#include "agentbox/file_text.h"
#include "agentbox/visible.h"
#include "base/text.h"

namespace {

using namespace agentbox;
using namespace agentbox::mcp;

void expect(bool holds) {
  if (!holds) {
    std::abort();
  }
}

bool is_harmless(std::string_view text) {
  while (!text.empty()) {
    const Character c = first_character(text);
    const bool line_end = c.value == '\r' && text.size() > 1 && text[1] == '\n';
    if (!c.valid || (is_disturbing(c.value) && !line_end)) {
      return false;
    }
    text.remove_prefix(c.bytes);
  }
  return true;
}

void check_stream(std::string_view output, std::size_t cap, std::size_t step) {
  HeadTail stream(cap);
  for (std::size_t at = 0; at < output.size(); at += step) {
    stream.add(output.substr(at, step));
  }
  const auto pieces = stream.pieces();
  expect(stream.total() == output.size());
  expect(pieces.head.size() + pieces.tail.size() + pieces.omitted == output.size());
  expect(pieces.head.size() + pieces.tail.size() <= std::max(cap, std::size_t{0}));
  expect(output.starts_with(pieces.head));
  expect(output.ends_with(pieces.tail));
  const ShownStream shown = show_stream(stream, "elsewhere");
  expect(is_utf8(shown.content));
  expect(is_harmless(shown.text));
}

void check_trimming(std::string_view bytes, std::size_t limit) {
  const Trimmed trimmed = trim_to_characters(bytes, limit, false, true);
  expect(trimmed.start + trimmed.bytes.size() <= bytes.size());
  expect(bytes.empty() || !trimmed.bytes.empty());
  expect(trimmed.bytes.size() <= limit + 3);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) {
    return 0;
  }
  const std::string_view output(reinterpret_cast<const char*>(data) + 2, size - 2);
  check_stream(output, data[0], data[1] + 1U);
  check_trimming(output, data[0] + 1U);
  expect(count_lines(first_lines(output, data[0])) <= data[0]);
  expect(count_lines(last_lines(output, data[0])) <= data[0]);
  const auto dressed =
      dress_lines(output, {.numbers = true, .max_bytes = data[1], .max_encoded = data[0] * 16U});
  expect(dressed.lines <= count_lines(output));
  expect(encoded_size(dressed.text) <= data[0] * 16U);
  return 0;
}
