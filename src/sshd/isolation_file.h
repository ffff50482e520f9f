// edge: reads the door's processes in /proc, and keeps what was read in the state folder.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "sshd/isolation.h"

namespace agentbox::sshd {

/// The monitor's own reading of each process of the door, one of each role. Its folder is the
/// door's alone: the box learns of it by summary(), which goes with each session.
class IsolationFile {
 public:
  explicit IsolationFile(std::string folder) : path_(std::move(folder) + "/isolation.json") {}

  /// Reads PID's status. A process that has ended is left out. DESCRIPTORS: what a network child
  /// said of itself before any byte of a client's had reached it.
  void saw(std::string_view role, pid_t pid, std::vector<std::string> descriptors = {});
  /// Writes the file where something else is known than it says. It is not synced: it tells of
  /// processes that a crash of the machine ends too. Where it cannot be written that is logged
  /// once, and tried again at the next call.
  void keep();
  [[nodiscard]] std::string summary() const { return summary_of(readings_); }

 private:
  std::string path_;
  std::vector<ProcessReading> readings_;
  bool changed_ = false;
  bool complained_ = false;
};

/// This process's descriptors, `NUMBER WHAT`: `connection` for those of CONNECTION, `monitor` for
/// MONITOR, else what the kernel calls them, escaped. At most as many as one record holds; more
/// show as `and more`.
[[nodiscard]] std::vector<std::string> own_descriptors(const std::vector<int>& connection,
                                                       int monitor);

}  // namespace agentbox::sshd
