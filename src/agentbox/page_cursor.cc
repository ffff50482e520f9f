// pure: see page_cursor.h.
#include "agentbox/page_cursor.h"

#include <cstddef>

#include "base/text.h"

namespace agentbox::mcp {
namespace {

constexpr std::size_t kMaxCursorBytes = 8192;
constexpr std::size_t kCheckBytes = 8;

std::string check_of(std::string_view list, std::string_view key) {
  std::string text("cursor 1\n");
  text.append(list).append("\n").append(key);
  return sha256(text).substr(0, kCheckBytes);
}

}  // namespace

std::string make_page_cursor(std::string_view list, std::string_view key) {
  return base64_encode(check_of(list, key) + std::string(key));
}

std::optional<std::string> read_page_cursor(std::string_view list, std::string_view cursor) {
  if (cursor.size() > kMaxCursorBytes) {
    return std::nullopt;
  }
  const auto bytes = base64_decode(cursor);
  if (!bytes.ok() || bytes->size() < kCheckBytes) {
    return std::nullopt;
  }
  std::string key = bytes->substr(kCheckBytes);
  if (bytes->substr(0, kCheckBytes) != check_of(list, key)) {
    return std::nullopt;
  }
  return key;
}

}  // namespace agentbox::mcp
