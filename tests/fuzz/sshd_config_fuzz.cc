// edge: the door's configuration, through the YAML door.
#include <cstdint>
#include <string_view>

#include "sshd/config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static_cast<void>(agentbox::sshd::parse_config({reinterpret_cast<const char*>(data), size}));
  return 0;
}
