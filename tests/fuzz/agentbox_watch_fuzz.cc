// pure: cursors, what a host of watches is asked, and what comes back, whoever wrote it. The first
// byte chooses which.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "agentbox/box_path.h"
#include "agentbox/event_ring.h"
#include "agentbox/watch_filter.h"
#include "agentbox/watch_words.h"

using namespace agentbox;
using namespace agentbox::mcp;

namespace {

void check(bool good) {
  if (!good) {
    std::abort();
  }
}

void try_cursor(std::string_view text) {
  const auto cursor = decode_cursor(text);
  check(!cursor.ok() || encode_cursor(*cursor) == text);
}

// What is taken comes out as it was.
void try_request(const Json& json) {
  const auto request = decode_watch_request(json);
  if (!request.ok()) {
    return;
  }
  const OrderedJson again = encode_watch_request(*request);
  const auto twice = decode_watch_request(Json(again));
  check(twice.ok() && encode_watch_request(*twice) == again);
  if (request->include && request->exclude) {
    const auto filter = WatchFilter::compile(*request->include, *request->exclude);
    if (filter.ok() && request->path) {
      static_cast<void>(filter->shows(*request->path));
      static_cast<void>(filter->enters(*request->path));
    }
  }
}

// Names in an answer are ones that every path argument takes as they are.
void try_reply(const Json& json) {
  const auto reply = decode_watch_reply(json);
  if (!reply.ok()) {
    return;
  }
  const OrderedJson again = encode_watch_reply(*reply);
  const auto twice = decode_watch_reply(Json(again));
  check(twice.ok() && encode_watch_reply(*twice) == again);
  for (const NumberedChange& each : reply->changes) {
    const std::string& path = each.change.path;
    check(quote_name(path) == path || unquote_name(path).ok());
    check(path.find('\n') == std::string::npos);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view rest(reinterpret_cast<const char*>(data + 1), size - 1);
  if (data[0] == 'c') {
    try_cursor(rest);
    return 0;
  }
  const auto json = parse_json(rest);
  if (!json.ok()) {
    return 0;
  }
  if (data[0] == 'q') {
    try_request(*json);
  } else {
    try_reply(*json);
  }
  return 0;
}
