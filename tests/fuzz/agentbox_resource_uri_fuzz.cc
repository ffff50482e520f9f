// pure: a URI is refused, or names one resource and nothing outside; paths survive their encoding.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "agentbox/page_cursor.h"
#include "agentbox/resource_uri.h"
#include "base/text.h"

namespace {

using namespace agentbox;
using namespace agentbox::mcp;

void expect(bool holds) {
  if (!holds) {
    std::abort();
  }
}

bool has_part(std::string_view path, std::string_view part) {
  const std::string all = std::string(path) + "/";
  return all.find("/" + std::string(part) + "/") != std::string::npos;
}

void check_uri(std::string_view text) {
  const auto uri = parse_resource_uri(text);
  if (!uri.ok()) {
    expect(is_printable_ascii(uri.error().what));
    return;
  }
  if (uri->kind != ResourceKind::kFile) {
    expect(uri->path.empty());
    return;
  }
  expect(uri->path.starts_with('/'));
  expect(uri->path.find('\0') == std::string::npos);
  expect(!has_part(uri->path, ".") && !has_part(uri->path, ".."));
  const std::string canonical = file_uri(uri->path);
  if (canonical.size() <= kMaxUriBytes) {
    const auto again = parse_resource_uri(canonical);
    expect(again.ok() && again->path == uri->path);
  }
}

void check_encoding(std::string_view bytes) {
  const std::string text = encode_percent(bytes);
  expect(is_printable_ascii(text));
  if (bytes.find('\0') == std::string_view::npos) {
    const auto back = decode_percent(text);
    expect(back.ok() && *back == bytes);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_uri(text);
  check_uri("file:///" + std::string(text));
  check_uri("agentbox://process/" + std::string(text));
  check_encoding(text);
  const std::string cursor = make_page_cursor("list", text);
  if (cursor.size() <= 8192) {
    expect(read_page_cursor("list", cursor) == std::string(text));
  }
  expect(!read_page_cursor("other", cursor));
  if (const auto key = read_page_cursor("list", text)) {
    expect(make_page_cursor("list", *key) == text);
  }
  return 0;
}
