// edge: the jobs of the box: which there are, who asked for them, and the way to their keepers.
// Part of the spawner, which alone outlives sessions; never waits for a session or a keeper.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/handle.h"
#include "base/record_io.h"
#include "base/result.h"

namespace agentbox::mcp {

/// Jobs that run at once. Each holds a keeper, a few descriptors and a log.
inline constexpr std::size_t kMaxJobs = 64;

class JobHost {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// OUT: the output folder; not valid: there is none, and no job can be started. COMPLAIN gets a
  /// line for the log.
  JobHost(UniqueFd out, std::function<void(std::string_view)> complain)
      : out_(std::move(out)), complain_(std::move(complain)) {}

  /// The end of a new line for SESSION, opened by KEY, over which it asks for jobs.
  [[nodiscard]] Result<UniqueFd> admit(std::string session, std::string key);
  /// The same with our end of a line that is there already, and does not block.
  void adopt(UniqueFd line, std::string session, std::string key);

  /// Appends what is to be polled; then take() gets the same entries back.
  void poll_into(std::vector<pollfd>& ready) const;
  void take(std::span<const pollfd> ready);
  [[nodiscard]] std::optional<TimePoint> deadline() const;
  void pass_deadlines(TimePoint now);

  /// PID has been reaped; false where it was no keeper of ours.
  bool reaped(pid_t pid);
  void append_keepers(std::vector<pid_t>& pids) const;

  void end_of_key(const std::string& key);
  void end_all(std::chrono::milliseconds grace, const std::string& why);
  [[nodiscard]] bool empty() const { return jobs_.empty(); }
  /// Whether there are sessions yet; what they started does not count.
  [[nodiscard]] bool has_callers() const;

 private:
  struct Job {
    std::string name;
    std::string key;
    pid_t keeper = -1;
    UniqueFd control;
    std::optional<TimePoint> kill_at;  ///< it was told to end
  };
  struct Line {
    UniqueFd socket;
    std::string session;
    std::string key;
    bool of_job = false;  ///< asked for by a session, for a program that it starts
    bool gone = false;
  };

  void read(Line& line);
  void answer(Line& line, const record::Record& message, int fd = -1);
  void refuse(Line& line, std::string why, std::string id = {});
  void start(Line& line, const std::string& name);
  void seek(Line& line, const std::string& id);
  void give_line(Line& line);
  [[nodiscard]] Status connect(Line& line, const std::string& id, Job& job);
  void end(Job& job, std::chrono::milliseconds grace, const std::string& why);
  void watch_memory();

  UniqueFd out_;
  std::function<void(std::string_view)> complain_;
  std::map<std::string, Job> jobs_;
  std::vector<Line> lines_;
  std::vector<Line> new_lines_;  // join lines_ at the end of take()
  TimePoint look_at_memory_{};
};

/// A process that is to this one what the spawner is to a session: for an agent-box that nobody
/// spawned. Its jobs end with its line. Call it before there are threads.
struct JobHelper {
  pid_t pid = -1;
  UniqueFd line;
};
[[nodiscard]] Result<JobHelper> start_job_helper(const std::string& out);

}  // namespace agentbox::mcp
