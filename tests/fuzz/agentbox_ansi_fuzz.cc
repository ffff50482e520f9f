// pure: text without escape sequences has no escape byte, loses nothing else, and is final.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "agentbox/ansi.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string kept = agentbox::mcp::strip_ansi(bytes);
  const bool has_escape = bytes.find('\x1b') != std::string_view::npos;
  if (kept.find('\x1b') != std::string::npos || kept.size() > bytes.size() ||
      (!has_escape && kept != bytes) || agentbox::mcp::strip_ansi(kept) != kept) {
    std::abort();
  }
  return 0;
}
