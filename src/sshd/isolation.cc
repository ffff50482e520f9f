// pure: see isolation.h.
#include "sshd/isolation.h"

#include <algorithm>

#include "base/text.h"

namespace agentbox::sshd {
namespace {

// What descriptors are, without their numbers.
std::vector<std::string> kinds_of(const std::vector<std::string>& descriptors) {
  std::vector<std::string> kinds;
  for (const std::string& descriptor : descriptors) {
    const auto space = descriptor.find(' ');
    kinds.push_back(space == std::string::npos ? descriptor : descriptor.substr(space + 1));
  }
  std::sort(kinds.begin(), kinds.end());
  return kinds;
}

std::string words_of(const ProcessReading& reading) {
  const ProcessStatus& status = reading.status;
  std::string text = reading.role + ": uid " + std::to_string(status.uid) + ", " +
                     (has_capability(status.effective) ? "capabilities " + status.effective
                                                       : std::string("no capabilities")) +
                     (status.no_new_privileges ? ", no new privileges" : "") +
                     (status.filter == 2 ? ", system call filter" : "");
  if (reading.inspectable) {
    text += *reading.inspectable ? ", can be inspected" : ", cannot be inspected";
  }
  if (!reading.descriptors.empty()) {
    int other = 0;
    for (const std::string& held : reading.descriptors) {
      const bool standard =
          held.starts_with("0 ") || held.starts_with("1 ") || held.starts_with("2 ");
      other += !standard && !held.ends_with(" connection") && !held.ends_with(" monitor") ? 1 : 0;
    }
    text += ", holds its connection and the line to the monitor, and " + std::to_string(other) +
            " other";
  }
  return text;
}

}  // namespace

bool tells_the_same(const ProcessReading& a, const ProcessReading& b) {
  const bool same_process = a.role == "network" || a.status.pid == b.status.pid;
  return same_process && a.role == b.role && a.status.uid == b.status.uid &&
         a.status.gid == b.status.gid && a.status.effective == b.status.effective &&
         a.status.bounding == b.status.bounding &&
         a.status.no_new_privileges == b.status.no_new_privileges &&
         a.status.filter == b.status.filter && a.status.pid_depth == b.status.pid_depth &&
         a.inspectable == b.inspectable && kinds_of(a.descriptors) == kinds_of(b.descriptors);
}

std::string render_isolation(const std::vector<ProcessReading>& readings,
                             const std::string& written) {
  OrderedJson processes = OrderedJson::array();
  for (const ProcessReading& reading : readings) {
    const ProcessStatus& status = reading.status;
    OrderedJson process{{"role", reading.role},
                        {"pid", static_cast<std::uint64_t>(std::max<std::int64_t>(status.pid, 0))},
                        {"uid", status.uid},
                        {"gid", status.gid},
                        {"effective", status.effective},
                        {"bounding", status.bounding},
                        {"no_new_privileges", status.no_new_privileges},
                        {"filter", status.filter},
                        {"pid_depth", status.pid_depth}};
    process["inspectable"] =
        reading.inspectable ? OrderedJson(*reading.inspectable) : OrderedJson(nullptr);
    process["descriptors"] = reading.descriptors;
    processes.push_back(std::move(process));
  }
  const OrderedJson whole{{"written", written}, {"processes", std::move(processes)}};
  return dump_json(whole, 2) + "\n";
}

std::string summary_of(const std::vector<ProcessReading>& readings) {
  std::string text;
  for (const ProcessReading& reading : readings) {
    text += (text.empty() ? "" : "; ") + words_of(reading);
  }
  return escape_text(text, kMaxSummaryBytes);
}

}  // namespace agentbox::sshd
