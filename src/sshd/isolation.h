// pure: what the monitor read of the door's processes, as the file isolation.json and as one line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/process_status.h"

namespace agentbox::sshd {

/// Leaves the rest of the record that starts a session to the variables of pass_env.
inline constexpr std::size_t kMaxSummaryBytes = 700;

/// One process as the kernel had it when it was read.
struct ProcessReading {
  std::string role;  ///< monitor, listener, network, box
  ProcessStatus status;
  std::optional<bool> inspectable;       ///< dumpable; nothing where that cannot be seen
  std::vector<std::string> descriptors;  ///< a network child's, before it locked itself up
};

/// Whether a reader would see the same in both: of a network child its numbers tell nothing, since
/// each connection has another one.
[[nodiscard]] bool tells_the_same(const ProcessReading& a, const ProcessReading& b);

/// `{"written","processes":[{"role","pid","uid","gid","effective","bounding","no_new_privileges",
/// "filter","pid_depth","inspectable","descriptors"}]}`. WRITTEN is RFC 3339.
[[nodiscard]] std::string render_isolation(const std::vector<ProcessReading>& readings,
                                           const std::string& written);

/// One line of printable ASCII for the box, without pids and paths: what runs there shall not
/// learn where things of the door lie.
[[nodiscard]] std::string summary_of(const std::vector<ProcessReading>& readings);

}  // namespace agentbox::sshd
