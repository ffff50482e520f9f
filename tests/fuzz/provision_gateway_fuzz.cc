// pure: a gateway as an annotation or a flag has it, and its host key out of a text: what comes out
// holds nothing that a shell or ssh gives a meaning to.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/public_key.h"
#include "base/text.h"
#include "provision/gateway.h"

using namespace agentbox;
using namespace agentbox::provision;

namespace {

void expect(bool holds) {
  if (!holds) {
    std::abort();
  }
}

bool is_tame(std::string_view text) {
  return text.find_first_of(" \t\n'\"\\$`;&|<>(){}*?!#~=,/%") == std::string_view::npos &&
         is_printable_ascii(text) && !text.starts_with('-');
}

}  // namespace

// The first line is the gateway, the second its address, the rest a text with host keys.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto next_line = [&] {
    const auto end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    return line;
  };
  const std::string_view first = next_line();
  const std::string_view second = next_line();
  const auto gateway = parse_gateway(first, second);
  if (!gateway.ok()) {
    return 0;
  }
  expect(is_tame(gateway->user) && is_tame(gateway->host) && is_tame(gateway->ns));
  expect(gateway->port != 0 && !gateway->host.empty());
  const auto again = parse_gateway(gateway_text(*gateway), gateway_address(*gateway));
  expect(again.ok() && *again == *gateway);
  const auto key = gateway_host_key(*gateway, text);
  if (key.ok()) {
    const auto parsed = PublicKey::parse(*key);
    expect(parsed.ok() && parsed->text() == *key);
    expect(is_tame(std::string_view(host_key_algorithms(*key)).substr(0, 11)));
  }
  return 0;
}
