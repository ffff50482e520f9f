// pure: Pipes as a cluster shows them: whoever can write one cannot make us print what is not plain
// text, nor take its keys for ours where its labels do not say so.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "provision/kube/pipe.h"

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
  for (const std::string& words : pipe_weaknesses(*object)) {
    expect(is_printable_ascii(words) && words.size() < 1024);
  }
  expect(is_printable_ascii(username_clash({*object}, name, "boxes")));
  expect(is_printable_ascii(pipes_unsupported(*object)));
  Gateway gateway;
  gateway.kind = GatewayKind::kSshpiper;
  gateway.ns = "gateway";
  const auto facts =
      read_pipe(*object, {name, "boxes", "uid", gateway, "demo.boxes.svc", "k", {}, {}});
  if (!facts.ok()) {
    return 0;
  }
  expect(is_of_box(*object, name, "boxes"));
  for (const NamedKey& entry : facts->keys) {
    expect(is_printable_ascii(entry.label));
  }
  for (const std::string& words : facts->problems) {
    expect(is_printable_ascii(words));
  }
  return 0;
}
