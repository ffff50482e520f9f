// pure: any pattern (the first line) and any .gitignore (all of it) judge any path without harm.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "agentbox/glob.h"
#include "agentbox/ignore_rules.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace agentbox::mcp;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view pattern = text.substr(0, text.find('\n'));
  const std::string_view path = text.substr(std::min(pattern.size() + 1, size));
  if (const auto glob = Glob::compile(pattern); glob.ok()) {
    static_cast<void>(glob->matches(path));
  }
  const IgnoreRules rules(text);
  static_cast<void>(rules.ignores(path, size % 2 == 0));
  // A path without anything special in it matches itself.
  if (!path.empty() && path.find_first_of("*?[]{},\\/\n") == std::string_view::npos &&
      path != ".") {
    const auto same = Glob::compile(path);
    if (!same.ok() || !same->matches(path)) {
      std::abort();
    }
  }
  return 0;
}
