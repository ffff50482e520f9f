// edge: what runs inside the keeper of one job: its output, its input, its end, and those who ask.
#pragma once

#include <string>

namespace agentbox::mcp {

/// Sessions that may hold a line to one keeper at once; the calls of a few sessions.
inline constexpr std::size_t kMaxJobCallers = 128;

/// Who the keeper is. Descriptors are borrowed.
struct JobSeat {
  std::string id;
  std::string name;
  std::string key;      ///< fingerprint of the key whose session asked for the job
  std::string session;  ///< that session
  int control = -1;     ///< to the spawner: brings callers; its end ends the job
  int out = -1;         ///< the output folder; -1: none
};

/// The keeper's whole life; called in the child right after fork.
[[noreturn]] void run_job(const JobSeat& seat);

}  // namespace agentbox::mcp
