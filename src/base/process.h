// edge: a child process as plain data, and starting it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/handle.h"
#include "base/result.h"

namespace agentbox {

/// Everything about a child before it exists. What is not named here is not inherited: no
/// descriptor, no variable, no signal mask or handler.
struct SpawnPlan {
  struct Descriptor {
    int in_child = -1;  ///< the number it has there
    int source = -1;    ///< ours
  };
  struct Identity {
    uid_t uid = 0;
    gid_t gid = 0;
  };

  std::string exe;  ///< absolute path; PATH is never searched
  std::vector<std::string> argv;
  std::vector<std::string> environment;  ///< NAME=value
  std::string working_folder = "/";
  std::vector<Descriptor> descriptors;  ///< 0, 1, 2 not named here are /dev/null
  bool new_session = false;
  int parent_death_signal = 0;       ///< 0: none
  int nice = 0;                      ///< added to ours
  std::optional<Identity> identity;  ///< also drops every supplementary group
};

/// Programs built with sanitizers find their options again in PLAN's environment; in others nothing
/// happens.
void pass_sanitizer_options(SpawnPlan& plan);

/// A running child. Neither waits nor kills when destroyed: who started it ends it.
struct Child {
  pid_t pid = -1;
  UniqueFd pidfd;
};

/// Starts PLAN. An Error where any step in the child failed before its first instruction (a missing
/// program included). The caller must be single-threaded.
[[nodiscard]] Result<Child> spawn(const SpawnPlan& plan);

/// How a child ended, from waitpid's status.
struct ExitStatus {
  bool exited = false;  ///< else by a signal
  int value = 0;        ///< exit code or signal number
};
/// Waits for CHILD to end.
[[nodiscard]] Result<ExitStatus> wait_for(const Child& child);
[[nodiscard]] ExitStatus exit_status_of(int wait_status);

}  // namespace agentbox
