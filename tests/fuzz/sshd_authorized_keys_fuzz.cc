// edge: the authorized_keys parser, with the address lists and dates inside it.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sshd/authorized_keys.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace agentbox::sshd;
  const auto keys = parse_authorized_keys({reinterpret_cast<const char*>(data), size});
  for (const KeyEntry& entry : keys.entries) {
    const auto again = agentbox::PublicKey::parse(entry.key.text());
    if (!again.ok() || again->fingerprint() != entry.key.fingerprint()) {
      std::abort();
    }
  }
  return 0;
}
