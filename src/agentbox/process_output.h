// edge: reads what a process printed, from a byte on, and waits for more where it is asked to.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agentbox/call.h"
#include "agentbox/job_record.h"
#include "agentbox/outcome.h"
#include "agentbox/processes.h"
#include "base/pattern.h"

namespace agentbox::mcp {

/// Most bytes of output in one reply.
inline constexpr std::int64_t kMaxOutputBytes = 262'144;
inline constexpr std::int64_t kDefaultOutputBytes = 30'000;
/// A call that waits longer would look hung to clients.
inline constexpr double kMaxWaitSeconds = 50;
inline constexpr std::size_t kMaxPatternBytes = 1000;

/// What a wait ends with, besides its time and the end of the process.
enum class WaitFor {
  kOutput,   ///< any new output
  kExit,     ///< nothing else
  kSettled,  ///< output, and then none for a moment
};

struct OutputRequest {
  std::uint64_t from = 0;
  std::size_t max_bytes = 0;
  std::chrono::milliseconds wait{0};
  WaitFor wait_for = WaitFor::kOutput;
  std::optional<Pattern> pattern = {};  ///< where given, it is what the wait ends with
};

struct OutputPiece {
  JobRecord record;        ///< as it was before the piece was read
  std::string bytes = {};  ///< whole characters, where there is more to come
  std::uint64_t at = 0;
  std::uint64_t next = 0;     ///< where to go on
  std::uint64_t dropped = 0;  ///< bytes from where the caller left off that are gone
  bool matched = false;
  bool eof = false;  ///< it has ended and nothing is left to read
};

/// The output of RECORD's process. Errors: CANCELLED.
[[nodiscard]] Outcome<OutputPiece> read_output(const Processes& processes, const JobRecord& record,
                                               const OutputRequest& request, CallContext& context);

/// The offset at which the last LINES lines begin, as far as LIMIT bytes reach back.
[[nodiscard]] std::uint64_t find_last_lines(const Processes& processes, const JobRecord& record,
                                            std::size_t lines, std::size_t limit);
/// The offset behind the last byte of its log.
[[nodiscard]] std::uint64_t log_end(const Processes& processes, const JobRecord& record);

/// The pattern argument TEXT, nothing where it is empty. Error: BAD_PATTERN.
[[nodiscard]] Outcome<std::optional<Pattern>> compile_pattern(const std::string& text);

/// A piece as a reply shows it.
struct ShownOutput {
  std::string content = {};  ///< UTF-8, or base64
  bool is_base64 = false;
  std::string text = {};    ///< for people and models: disturbing characters made visible
  std::size_t changed = 0;  ///< how many
};
[[nodiscard]] ShownOutput show_output(std::string_view bytes, bool strip);

}  // namespace agentbox::mcp
