// pure: what is known of one process of the box, and the file that keeps it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace agentbox::mcp {

/// One record's file; commands are cut to fit well below.
inline constexpr std::size_t kMaxJobRecordBytes = 16UL << 10;
/// What a record keeps of a command line: enough to know it again.
inline constexpr std::size_t kMaxJobCommandBytes = 1024;

/// What a process of the box is there for.
enum class JobKind : std::uint8_t {
  kJob,      ///< of process_start
  kCommand,  ///< of shell_exec, that ran on after its reply or had too much output for it; ends
             ///< with its session
  kContext,  ///< hosts an interpreter; see hosted.h for these three
  kTask,     ///< runs one tool call
  kWatch,    ///< watches files
};
inline constexpr std::array kJobKinds{JobKind::kJob, JobKind::kCommand, JobKind::kContext,
                                      JobKind::kTask, JobKind::kWatch};
[[nodiscard]] std::string_view job_kind_name(JobKind kind);
/// A program of ours, which agents see as something else than a process.
[[nodiscard]] constexpr bool is_hosted(JobKind kind) {
  return kind != JobKind::kJob && kind != JobKind::kCommand;
}

enum class JobStatus { kRunning, kExited, kKilled, kLost };
[[nodiscard]] std::string_view job_status_name(JobStatus status);

struct JobRecord {
  std::string id;
  std::string name;
  JobKind kind = JobKind::kJob;
  std::string command;  ///< cut
  std::string folder;
  std::int64_t pid = -1;         ///< of its own process
  std::int64_t keeper_pid = -1;  ///< who looks after it: while that lives, so does the record
  std::uint64_t keeper_start =
      0;                        ///< its start in ticks since boot: numbers of processes come again
  std::int64_t started_ms = 0;  ///< since 1970
  std::int64_t ended_ms = 0;
  JobStatus status = JobStatus::kRunning;
  int exit_code = -1;         ///< of its own process; -1: none, or none yet
  int signal = 0;             ///< that ended its own process
  bool leader_ended = false;  ///< while running: its own process has ended, others of it have not
  bool terminal = false;
  std::string ended_by;  ///< who had it ended, where somebody had
  std::string key;       ///< fingerprint of the key whose session started it
  std::string session;
  std::uint64_t log_lost = 0;  ///< bytes of output at the end that no log has: the disk was full
  std::int64_t cpu_us = 0;
  std::int64_t max_rss_bytes = 0;
  std::uint32_t restarts = 0;

  /// It has a keeper of its own and outlives the session that started it.
  [[nodiscard]] bool of_box() const { return kind != JobKind::kCommand; }
};

[[nodiscard]] std::string encode_job_record(const JobRecord& record);

/// Whatever agent code wrote there: a record with every field in its bounds, or an Error.
[[nodiscard]] Result<JobRecord> decode_job_record(std::string_view text);

/// COMMAND cut to kMaxJobCommandBytes between characters.
[[nodiscard]] std::string cut_command(std::string_view command);

}  // namespace agentbox::mcp
