// edge: the record decoder: whatever it takes must encode to the same bytes again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view datagram(reinterpret_cast<const char*>(data), size);
  const auto decoded = agentbox::record::decode(datagram);
  if (decoded.ok()) {
    const auto again = agentbox::record::encode(decoded.value());
    if (!again.ok() || again.value() != datagram) {
      std::abort();
    }
  }
  return 0;
}
