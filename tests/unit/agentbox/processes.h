// edge: what runs on this machine, for tests of what must no longer run.
#pragma once

#include <string>
#include <string_view>

#include "unit/agentbox/temporary_folder.h"

namespace agentbox::test {

/// Whether any process has WORD as one whole word of its command line: a number that no other test
/// uses, such as what a command sleeps.
inline bool process_with(std::string_view word) {
  const std::string wanted = '\0' + std::string(word) + '\0';
  for (const std::string& name : names_in("/proc")) {
    if (name.find_first_not_of("0123456789") == std::string::npos &&
        file_content("/proc/" + name + "/cmdline").find(wanted) != std::string::npos) {
      return true;
    }
  }
  return false;
}

}  // namespace agentbox::test
