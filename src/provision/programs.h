// edge: finding agentbox-sshd and agent-box, and giving a box its own copies.
#pragma once

#include <string>

#include "provision/answer.h"

namespace agentbox::provision {

struct Programs {
  std::string door;
  std::string box;
};

/// In CHOSEN, else $AGENTBOX_PROGRAMS, else beside this program.
[[nodiscard]] Answer<Programs> find_programs(const std::string& chosen);

/// Copies both into FOLDER under their own names, mode 0711: nobody but their owner may read what
/// runs, so that a fresh process of theirs cannot be seized with ptrace, and a later build does not
/// reach a running box. Each is replaced in one step.
[[nodiscard]] Done install_programs(const Programs& programs, const std::string& folder);

}  // namespace agentbox::provision
