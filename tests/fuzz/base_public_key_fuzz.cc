// pure: a line or a blob from anybody is a public key that comes out as it went in, or none.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/public_key.h"
#include "base/text.h"

using namespace agentbox;

namespace {

void expect(bool holds) {
  if (!holds) {
    std::abort();
  }
}

void check(const PublicKey& key) {
  expect(is_fingerprint(key.fingerprint()));
  const auto again = PublicKey::parse(key.text());
  expect(again.ok() && again->blob() == key.blob() && again->type() == key.type());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto blob = PublicKey::from_blob(bytes);
  if (blob.ok()) {
    expect(blob->blob() == bytes);
    check(*blob);
  }
  if (const auto line = PublicKey::parse(bytes); line.ok()) {
    check(*line);
  }
  return 0;
}
