// pure: whatever a file begins with, its type is a word of ours and its size is positive.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agentbox/capture.h"
#include "agentbox/image_size.h"
#include "agentbox/mime.h"
#include "base/text.h"

namespace {

using namespace agentbox;
using namespace agentbox::mcp;

void expect(bool holds) {
  if (!holds) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A name, a newline, and the file.
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view name = text.substr(0, text.find('\n'));
  const std::string_view bytes = text.substr(std::min(name.size() + 1, text.size()));
  const std::string_view type = mime_type(name, bytes);
  expect(std::count(type.begin(), type.end(), '/') == 1 && type.size() < 100);
  expect(is_printable_ascii(type));
  // Of a long file, but for a character that is cut in two.
  std::string_view head = bytes.substr(0, kMimeBytes);
  head.remove_suffix(incomplete_suffix(head));
  expect(!is_text_type(type) || is_plain_text(head));
  const auto image = image_size(bytes);
  expect(!image || (image->width > 0 && image->height > 0));
  expect(!is_whole_image(bytes) || is_whole_image(std::string(bytes) + "behind"));
  return 0;
}
