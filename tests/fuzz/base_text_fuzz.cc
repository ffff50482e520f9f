// edge: escaping, UTF-8 repair and base64: each way there and back.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace agentbox;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto back = unescape_text(escape_text(bytes));
  const bool escaped = back.ok() && back.value() == bytes && escape_text(bytes, 16).size() <= 16;
  const bool repaired = is_utf8(replace_invalid_utf8(bytes)) &&
                        (!is_utf8(bytes) || replace_invalid_utf8(bytes) == bytes);
  const auto decoded = base64_decode(bytes);
  const bool canonical = !decoded.ok() || base64_encode(decoded.value()) == bytes;
  if (!escaped || !repaired || !canonical || base64_decode(base64_encode(bytes)).value() != bytes) {
    std::abort();
  }
  return 0;
}
