// pure: box.json from anybody: what is taken reads back as itself.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "provision/box.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace agentbox::provision;
  const std::string_view text(
      reinterpret_cast<const char*>(data),
      size);  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast): bytes as text
  const auto record = parse_record(text);
  if (record.ok()) {
    const std::string written = render_record(*record);
    const auto again = parse_record(written);
    if (!again.ok() || render_record(*again) != written) {
      std::abort();
    }
  }
  return 0;
}
