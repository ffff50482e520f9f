// pure: whatever stands in a table of sockets, what is read from it is an address and a port.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agentbox/socket_table.h"
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
  constexpr std::size_t kLimit = 8;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const Transport transport : {Transport::kTcp, Transport::kUdp}) {
    const auto ports = parse_socket_table(text, transport, kLimit);
    expect(ports.size() <= kLimit);
    for (const OpenPort& port : ports) {
      expect(port.port > 0);
      expect(!port.address.empty() && is_printable_ascii(port.address));
    }
  }
  (void)parse_socket_link(text);
  return 0;
}
