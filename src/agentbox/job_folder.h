// edge: the records and logs of processes in the box's output folder, a folder for each. Agent code
// can write there: what is read is checked, and misleads nobody but its writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agentbox/job_record.h"
#include "base/handle.h"
#include "base/result.h"

namespace agentbox::mcp {

/// In the output folder.
inline constexpr const char* kJobsFolderName = "jobs";
/// Records of jobs that have ended; the oldest go. As many again of commands and of tasks.
inline constexpr std::size_t kMaxFinishedKept = 200;
/// All logs together, those of what still runs not counted as removable: the oldest finished go.
inline constexpr std::uint64_t kMaxLogFolderBytes = 1ULL << 30;

/// OUT (borrowed, -1: there is none) is the output folder.
class JobFolder {
 public:
  explicit JobFolder(int out) : out_(out) {}

  [[nodiscard]] bool is_there() const { return out_ >= 0; }
  /// Makes room, then the folder of the new process ID.
  [[nodiscard]] Result<UniqueFd> make(const std::string& id) const;
  /// Removes the folder of ID with all in it.
  void remove(const std::string& id) const;
  [[nodiscard]] Result<UniqueFd> open(const std::string& id) const;
  /// Every record, newest first. One that says running although nobody looks after its process any
  /// more is kLost.
  [[nodiscard]] std::vector<JobRecord> list() const;
  [[nodiscard]] std::optional<JobRecord> find(const std::string& id) const;

 private:
  void prune() const;
  [[nodiscard]] UniqueFd open_jobs() const;

  int out_;
};

/// Replaces the record in FOLDER whole.
[[nodiscard]] Status write_job_record(int folder, const JobRecord& record);

/// Milliseconds since 1970.
[[nodiscard]] std::int64_t now_ms();

}  // namespace agentbox::mcp
