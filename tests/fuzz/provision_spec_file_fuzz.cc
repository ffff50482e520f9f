// pure: the file of create -f from anybody.
#include <cstdint>
#include <string_view>

#include "provision/spec_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(
      reinterpret_cast<const char*>(data),
      size);  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast): bytes as text
  static_cast<void>(agentbox::provision::parse_spec_file(text));
  return 0;
}
