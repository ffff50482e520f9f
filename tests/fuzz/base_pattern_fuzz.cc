// pure: any pattern, the part before the first NUL, is refused or matches any text, without harm.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/pattern.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(input.find('\0'), input.size());
  const auto compiled =
      agentbox::Pattern::compile(input.substr(0, end), {.multi_line = size % 2 == 0});
  if (compiled.ok()) {
    static_cast<void>(compiled->found_in(input.substr(end)));
  }
  return 0;
}
