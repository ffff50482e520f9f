// edge: the parser of the revoked file, and those of the door's own state.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/audit_chain.h"
#include "sshd/door_state.h"
#include "sshd/revoked.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace agentbox;
  using namespace agentbox::sshd;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto revoked = parse_revoked(text); revoked.ok()) {
    for (const auto& fingerprint : revoked->fingerprints) {
      if (!revoked->names_key(fingerprint)) {
        std::abort();
      }
    }
  }
  if (const auto head = parse_head(text); head.ok() && render_head(*head) != text) {
    std::abort();
  }
  if (const auto generation = parse_generation(text);
      generation.ok() && render_generation(*generation) != text) {
    std::abort();
  }
  return 0;
}
