// edge: a first SIGINT, SIGTERM or SIGHUP lets a command that leaves traces clear them away; a
// second one ends it at once.
#pragma once

#include <signal.h>

#include <array>

#include "provision/answer.h"

namespace agentbox::provision {

/// While it lives, the first of these signals is noted and not more; whoever loops asks
/// interrupted(). One at a time.
class Interruptible {
 public:
  Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;
  ~Interruptible();

 private:
  std::array<struct sigaction, 3> before_{};
};

[[nodiscard]] bool interrupted();
/// What a command says that has stopped for it.
[[nodiscard]] Failure interrupted_failure();

}  // namespace agentbox::provision
