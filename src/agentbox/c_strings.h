// pure: a list of texts as the null-terminated array of pointers that execve wants.
#pragma once

#include <string>
#include <vector>

namespace agentbox::mcp {

/// Valid as long as TEXTS is and does not change.
[[nodiscard]] inline std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): execve's signature; it writes nothing
    pointers.push_back(const_cast<char*>(text.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace agentbox::mcp
