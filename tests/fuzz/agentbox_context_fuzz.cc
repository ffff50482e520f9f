// pure: what a driver in an interpreter writes, and what the two ends of a context's socket say.
// The first byte chooses which.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agentbox/context_driver.h"
#include "agentbox/context_wire.h"
#include "agentbox/context_words.h"

using namespace agentbox;
using namespace agentbox::mcp;

namespace {

void check(bool good) {
  if (!good) {
    std::abort();
  }
}

void try_request(const Json& json) {
  const auto request = read_context_request(json);
  if (request.ok()) {
    const OrderedJson written = write_context_request(*request);
    const auto again = read_context_request(Json(written));
    check(again.ok() && write_context_request(*again) == written);
  }
}

void try_reply(const Json& json) {
  const auto reply = read_context_reply(json);
  if (reply.ok()) {
    check(read_context_reply(Json(write_context_reply(*reply))).ok());
    const ToolResult shown = show_execution(reply->report, {.context_id = "c"});
    check(shown.error.has_value() == failed_execution(reply->report));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view rest(reinterpret_cast<const char*>(data + 1), size - 1);
  if (data[0] == 'd') {
    const auto line = parse_driver_line(rest);
    check(!line.ok() || line->kind != DriverLine::Kind::kImage ||
          !image_suffix(line->mime).empty());
    return 0;
  }
  const auto json = parse_json(rest);
  if (json.ok()) {
    data[0] == 'q' ? try_request(*json) : try_reply(*json);
  }
  return 0;
}
