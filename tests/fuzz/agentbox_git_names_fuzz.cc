// pure: whatever a repository's files hold, what comes out is names by git's rules.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agentbox/git_names.h"
#include "base/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace agentbox;
  using namespace agentbox::mcp;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const std::string& name : read_packed_refs(text)) {
    if (!is_ref_name(name) || !is_printable_ascii(name)) {
      std::abort();
    }
  }
  const std::string name = short_ref_name(text);
  if (!name.empty() && (name.front() == '-' || name.find("..") != std::string::npos)) {
    std::abort();
  }
  return 0;
}
