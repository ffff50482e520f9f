// pure: all that a keeper is told of the job it shall start, as the bytes that cross to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agentbox/job_record.h"
#include "base/result.h"

namespace agentbox::mcp {

/// A plan's bytes: execve itself takes little more than 2 MiB of words and variables.
inline constexpr std::size_t kMaxPlanBytes = 4UL << 20;

struct JobPlan {
  std::vector<std::string> programs = {};  ///< tried in order until one can be executed
  std::vector<std::string> argv = {};
  std::vector<std::string> environment = {};
  std::string command = {};  ///< for people, cut
  std::string folder = {};   ///< for people: where it runs
  bool has_input = false;    ///< a pipe; else its input is empty
  bool terminal = false;     ///< a terminal instead of pipes
  std::uint32_t columns = 0;
  std::uint32_t rows = 0;
  std::uint32_t lifetime_seconds = 0;  ///< 0: no limit
  bool restart = false;                ///< again after a failure
  JobKind kind = JobKind::kJob;
};

[[nodiscard]] std::string encode_plan(const JobPlan& plan);

/// The plan of BYTES, or why it is none. Never allocates more than a small multiple of BYTES.
[[nodiscard]] Result<JobPlan> decode_plan(std::string_view bytes);

}  // namespace agentbox::mcp
