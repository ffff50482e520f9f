// edge: the JSON door: parsing never throws, and what parses dumps to text that parses again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parsed = agentbox::parse_json({reinterpret_cast<const char*>(data), size});
  if (parsed.ok() && !agentbox::parse_json(agentbox::dump_json(parsed.value())).ok()) {
    std::abort();
  }
  return 0;
}
