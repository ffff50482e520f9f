// pure: a client that says nothing useful is told so after so many lines or bytes, however it cuts
// them, and never once it has been greeted. The first byte says how long the pieces are.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agentbox/hello.h"
#include "agentbox/limits.h"
#include "base/text.h"

using namespace agentbox;
using namespace agentbox::mcp;

namespace {

void expect(bool holds) {
  if (!holds) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t step = data[0] * 16U + 1U;
  const TimePoint opened{};
  HelloGuard guard(opened);
  LineSplitter splitter(kMaxLineInBytes);
  bool greeted = false;
  std::size_t seen = 0;
  for (std::size_t at = 0; at < input.size(); at += step) {
    const std::string_view piece = input.substr(at, step);
    splitter.feed(piece);
    seen += piece.size();
    while (const auto line = splitter.next()) {
      greeted = greeted || (!line->too_long && parse_json(line->text).ok());
      guard.on_line(*line, greeted);
    }
    const auto verdict = guard.verdict(splitter.pending(), opened);
    expect(!verdict || (!greeted && is_printable_ascii(*verdict)));
    const std::string_view sent = input.substr(0, seen);
    const bool begins_well = sent.find_first_of("{[") != std::string_view::npos;
    expect(verdict || greeted || begins_well || seen < kHelloMaxBytes + kHelloMaxLines * 2 ||
           sent.find_first_not_of(" \t\r\n") == std::string_view::npos);
  }
  expect(guard.verdict("", opened + kHelloTime).has_value() != greeted);
  expect(guard.deadline().has_value() != greeted);
  return 0;
}
