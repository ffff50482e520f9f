// pure: what a server sends: a watch's lines and WebSocket frames in two pieces, refusals, headers,
// objects, keys in annotations.
#include <cstdint>
#include <string_view>

#include "provision/kube/api.h"
#include "provision/kube/json_lines.h"
#include "provision/kube/manifests.h"
#include "provision/kube/websocket.h"

using namespace agentbox;
using namespace agentbox::provision;
using namespace agentbox::provision::kube;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(
      reinterpret_cast<const char*>(data),
      size);  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast): bytes as text
  JsonLines lines(4096);
  for (const std::string_view piece : {text.substr(0, size / 2), text.substr(size / 2)}) {
    auto values = lines.feed(piece);
    if (!values.ok()) {
      break;
    }
    for (Json& value : *values) {
      static_cast<void>(read_watch_event(value));
      static_cast<void>(additions_of(value, OrderedJson::object()));
      static_cast<void>(changes_between(OrderedJson{{"a", {{"b", 1}}}}, value));
    }
  }
  FrameReader frames;
  PortChannels channels(2222);
  for (const std::string_view piece : {text.substr(0, size / 2), text.substr(size / 2)}) {
    const auto read = frames.feed(piece);
    if (!read.ok()) {
      break;
    }
    for (const Frame& frame : *read) {
      static_cast<void>(channels.take(frame));
    }
  }
  static_cast<void>(check_upgrade(text, "v4.channel.k8s.io"));
  const HttpResponse response{409, {{"warning", std::string(text)}}, std::string(text)};
  static_cast<void>(failure_of_answer(response, "apply"));
  static_cast<void>(warnings_of(response));
  static_cast<void>(parse_keys_annotation(text));
  return 0;
}
