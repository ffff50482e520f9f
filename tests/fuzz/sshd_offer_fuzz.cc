// pure: the first bytes of an SSH server, as the door reads its own back.
#include <cstdint>
#include <string_view>

#include "sshd/offer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto offer = agentbox::sshd::parse_offer({reinterpret_cast<const char*>(data), size});
  if (offer.ok()) {
    static_cast<void>(agentbox::sshd::check_offer(*offer, *offer));
  }
  return 0;
}
