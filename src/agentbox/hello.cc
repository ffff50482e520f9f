// pure: see hello.h.
#include "agentbox/hello.h"

#include "agentbox/limits.h"

namespace agentbox::mcp {
namespace {

bool looks_like_json(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (line[first] == '{' || line[first] == '[');
}

}  // namespace

void HelloGuard::on_line(const Line& line, bool greeted) {
  greeted_ = greeted;
  if (greeted_) {
    return;
  }
  bytes_ += line.too_long ? kMaxLineInBytes : line.text.size();
  if (!looks_like_json(line.text)) {
    ++lines_;
  }
}

std::optional<std::string> HelloGuard::verdict(std::string_view pending, TimePoint now) const {
  if (greeted_) {
    return std::nullopt;
  }
  // A long first request is fine as long as it begins like one.
  const std::size_t useless = looks_like_json(pending) ? 0 : pending.size();
  std::string what;
  if (lines_ >= kHelloMaxLines) {
    what = std::to_string(kHelloMaxLines) + " lines that are not JSON";
  } else if (bytes_ + useless >= kHelloMaxBytes) {
    what = std::to_string(kHelloMaxBytes) + " bytes that are no message";
  } else if (now - opened_ >= kHelloTime) {
    what = std::to_string(kHelloTime.count()) + " seconds without a message";
  } else {
    return std::nullopt;
  }
  return "agent-box: " + what +
         ": this is a Model Context Protocol server, not a shell; connect an MCP client";
}

std::optional<TimePoint> HelloGuard::deadline() const {
  return greeted_ ? std::nullopt : std::optional(opened_ + kHelloTime);
}

}  // namespace agentbox::mcp
