// pure: a Sandbox as a cluster shows it: whoever can write it cannot make us print or dial what is
// not of its grammar.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "provision/kube/sandbox_facts.h"

using namespace agentbox;
using namespace agentbox::provision;
using namespace agentbox::provision::kube;

namespace {

void expect(bool holds) {
  if (!holds) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto object = parse_json({reinterpret_cast<const char*>(data), size});
  if (!object.ok()) {
    return 0;
  }
  static const BoxName name = BoxName::parse("demo").value();
  static_cast<void>(pod_generation(*object));
  expect(is_printable_ascii(unsupported(*object)));
  const auto facts = read_sandbox(*object, name, "boxes");
  if (!facts.ok()) {
    return 0;
  }
  expect(is_labelled(*object, name));
  expect(facts->host.empty() || facts->host.starts_with("demo.boxes.svc."));
  for (const std::string* text : {&facts->reason, &facts->host, &facts->egress, &facts->pod}) {
    expect(is_printable_ascii(*text) && text->size() < 1024);
  }
  expect(PublicKey::parse(facts->host_key).ok());
  for (const NamedKey& key : facts->keys) {
    expect(is_printable_ascii(key.label));
  }
  for (const std::string& fingerprint : facts->revoked) {
    expect(is_fingerprint(fingerprint));
  }
  return 0;
}
