// pure: a path argument is refused, or names something below a root; quoting loses no byte.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "agentbox/box_path.h"
#include "base/text.h"

namespace {

using namespace agentbox;
using namespace agentbox::mcp;

void expect(bool holds) {
  if (!holds) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view given(reinterpret_cast<const char*>(data), size);
  static const RootNames names{.workspace = {"/srv/box", "/workspace"}, .output = {"/run/out/"}};
  const auto path = parse_box_path(given, names);
  if (path.ok()) {
    expect(!path->relative.empty());
    expect(path->relative.front() != '/');
    expect(path->relative.find('\0') == std::string::npos);
    expect(is_utf8(show_path(*path, names)));
  } else {
    expect(!path.error().code.empty());
    expect(is_utf8(path.error().message));
  }
  const std::string quoted = quote_name(given);
  expect(is_utf8(quoted));
  if (quoted.starts_with('"')) {
    const auto back = unquote_name(quoted);
    expect(back.ok() && *back == given);
  } else {
    expect(quoted == given);
  }
  return 0;
}
