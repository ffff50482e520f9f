// pure: a claim, its Sandbox, its pod, a pool and a template as a cluster shows them: whoever can
// write them cannot make us print or dial what is not of its grammar.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "provision/kube/pool_facts.h"
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

void read_pools(const Json& object) {
  expect(is_printable_ascii(pool_of_claim(object)));
  expect(is_printable_ascii(template_of_pool(object)));
  static_cast<void>(lets_somebody_in(object));
  if (const auto facts = read_template(object); facts.ok()) {
    for (const std::string* text :
         {&facts->name, &facts->door_image, &facts->image, &facts->egress}) {
      expect(is_printable_ascii(*text) && text->size() < 2048);
    }
  }
  if (const auto facts = read_pool(object); facts.ok()) {
    expect(is_printable_ascii(facts->name) && !facts->from_template.empty());
  }
}

void check(const SandboxFacts& facts) {
  expect(facts.host.empty() || facts.host.starts_with(facts.sandbox + ".boxes.svc."));
  for (const std::string* text :
       {&facts.reason, &facts.host, &facts.egress, &facts.pod, &facts.pool, &facts.sandbox}) {
    expect(is_printable_ascii(*text) && text->size() < 2048);
  }
  expect(facts.host_key.empty() ? facts.generation == 0 : PublicKey::parse(facts.host_key).ok());
  for (const NamedKey& key : facts.keys) {
    expect(is_printable_ascii(key.label));
  }
}

}  // namespace

// {"claim":..., "sandbox":...}, or any one object.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto object = parse_json({reinterpret_cast<const char*>(data), size});
  if (!object.ok()) {
    return 0;
  }
  read_pools(*object);
  static_cast<void>(sandbox_generation(*object));
  expect(is_printable_ascii(no_first_start(*object, "s-1")));
  const Json* claim = find_member(*object, "claim");
  const Json* sandbox = find_member(*object, "sandbox");
  static const BoxName name = BoxName::parse("demo").value();
  const auto facts = read_claim(claim == nullptr ? *object : *claim, sandbox, name, "boxes");
  if (facts.ok()) {
    check(*facts);
  }
  return 0;
}
