// pure: the log of a pod's door, from which its host key is learned: nothing but an ed25519 key
// comes out of it, and the same one whatever is read of it again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "provision/told_host_key.h"

using namespace agentbox;
using namespace agentbox::provision;

namespace {

void expect(bool holds) {
  if (!holds) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view log(reinterpret_cast<const char*>(data), size);
  const auto told = host_key_told(log);
  if (!told.ok()) {
    expect(told.error().code == Code::kDenied && is_printable_ascii(told.error().what));
    return 0;
  }
  // A log that grows by a part of a line says what it said.
  const auto longer =
      host_key_told(std::string(log.substr(0, log.rfind('\n') + 1)) + "{\"stream\"");
  expect(longer.ok() && longer->has_value() == told->has_value());
  if (*told) {
    expect((*told)->type() == "ssh-ed25519" && is_printable_ascii((*told)->text()));
    expect((*longer)->text() == (*told)->text());
  }
  return 0;
}
