// edge: the processes that the tools can name: the jobs of the box, and what commands of this
// session left running. Hides which of the two it is.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/job_plan.h"
#include "agentbox/job_record.h"
#include "agentbox/outcome.h"

namespace agentbox::mcp {

/// How long a process may leave its input untaken before a write gives up.
inline constexpr std::chrono::seconds kInputTime{5};

/// Waits for news of one process, for one call.
class ProcessWatch {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// Its log reaches beyond LOG_END (kRecord, maybe early), or it has ended (kOver).
  [[nodiscard]] JobNews wait(std::uint64_t log_end, TimePoint deadline, int cancel);

 private:
  friend class Processes;
  std::optional<JobLine> line_;  // to a job's keeper
  UniqueFd pipe_;                // or from this session's commands
};

struct Stopped {
  JobRecord record;
  std::uint64_t signalled = 0;
  bool over = false;  ///< nothing of it runs any more
};

class Processes {
 public:
  explicit Processes(Box& box) : box_(box), folder_(box.workspace->output_folder()) {}

  /// Jobs, and this session's commands that still run; newest first.
  [[nodiscard]] std::vector<JobRecord> list() const;
  /// By process_id or by name; of several with one name the one that runs, else the newest.
  [[nodiscard]] Outcome<JobRecord> find(std::string_view name) const;
  /// What is known of it now.
  [[nodiscard]] JobRecord refresh(const JobRecord& record) const;
  [[nodiscard]] JobFolder folder() const { return folder_; }
  [[nodiscard]] std::string log_path(const JobRecord& record) const;

  /// Starts a job in the folder FOLDER (borrowed). LINE (borrowed, -1: none) leads to the spawner,
  /// for a program of ours. EEXIST: details.process_id is the live job of that name.
  [[nodiscard]] Outcome<JobRecord> start(const JobPlan& plan, const std::string& name, int folder,
                                         CallContext& context, int line = -1) const;
  [[nodiscard]] ProcessWatch watch(const JobRecord& record) const;
  /// Waits until nothing of it runs any more: true; false where TIME passed or the call was
  /// cancelled.
  [[nodiscard]] bool wait_over(const JobRecord& record, std::chrono::milliseconds time,
                               CallContext& context) const;
  /// SIGTERM, GRACE, SIGKILL to the whole tree, and waits for its end.
  [[nodiscard]] Outcome<Stopped> stop(const JobRecord& record, std::chrono::milliseconds grace,
                                      CallContext& context) const;
  /// Sends one signal; to the process's own process where not TREE.
  [[nodiscard]] Outcome<Stopped> signal(const JobRecord& record, int number, bool tree,
                                        CallContext& context) const;
  /// Writes DATA to its input, then ends that where CLOSE says so.
  [[nodiscard]] Outcome<std::uint64_t> write(const JobRecord& record, const std::string& data,
                                             bool close, CallContext& context) const;
  [[nodiscard]] Outcome<bool> resize(const JobRecord& record, std::uint32_t columns,
                                     std::uint32_t rows, CallContext& context) const;

 private:
  [[nodiscard]] bool is_ours(const JobRecord& record) const;
  [[nodiscard]] Outcome<JobLine> connect(const JobRecord& record) const;
  [[nodiscard]] Outcome<record::JobDone> request(const JobRecord& record,
                                                 const record::Record& message,
                                                 CallContext& context) const;
  [[nodiscard]] Outcome<std::uint64_t> type(const JobRecord& record, const std::string& data,
                                            bool close, CallContext& context) const;
  [[nodiscard]] bool wait_forgotten(const JobRecord& record, CallContext& context) const;

  Box& box_;
  JobFolder folder_;
};

}  // namespace agentbox::mcp
