// pure: any bytes, cut anywhere, give the same lines; every line gives a message or a reason.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "agentbox/jsonrpc.h"

namespace {

using namespace agentbox;
using namespace agentbox::mcp;

constexpr std::size_t kCap = 64;

std::vector<std::string> lines_of(std::string_view text, std::size_t piece) {
  LineSplitter splitter(kCap);
  std::vector<std::string> lines;
  const auto keep = [&](const Line& line) {
    if (line.text.size() > kCap) {
      std::abort();
    }
    lines.push_back(line.too_long ? "<too long>" : std::string(line.text));
  };
  for (std::size_t at = 0; at < text.size(); at += piece) {
    splitter.feed(text.substr(at, piece));
    while (const auto line = splitter.next()) {
      keep(*line);
    }
  }
  if (const auto line = splitter.finish()) {
    keep(*line);
  }
  return lines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (lines_of(text, 1) != lines_of(text, 7) || lines_of(text, 7) != lines_of(text, size + 1)) {
    std::abort();
  }
  if (auto value = parse_json(text); value.ok()) {
    const auto message = read_message(std::move(value).value());
    const auto* bad = std::get_if<BadMessage>(&message);
    if (bad != nullptr && !parse_json(error_line(bad->id_json, bad->code, bad->why)).ok()) {
      std::abort();
    }
  }
  return 0;
}
