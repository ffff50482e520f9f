// pure: every bound of the tool server in one place, as constants and as rows to show.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace agentbox::mcp {

inline constexpr std::size_t kKiB = 1024;
inline constexpr std::size_t kMiB = 1024 * kKiB;

/// A whole write_file of 4 MiB in base64 with escapes fits twice over.
inline constexpr std::size_t kMaxLineInBytes = 16 * kMiB;
/// Clients in wide use drop the connection on a line over 10 MiB.
inline constexpr std::size_t kMaxLineOutBytes = 8 * kMiB;
/// One tool's encoded result, text and structured copy together; leaves room for the envelope.
inline constexpr std::size_t kMaxResultBytes = 7 * kMiB;
/// A batch is answered in one line, so its size is bounded too.
inline constexpr std::size_t kMaxBatchItems = 100;
/// What results may take of a batch's line; the rest is room for errors, which are small.
inline constexpr std::size_t kMaxBatchResultBytes = 7 * kMiB;
/// An id is echoed in every reply and kept while its call runs; clients use a few bytes.
inline constexpr std::size_t kMaxIdBytes = 4 * kKiB;

/// Each call may hold a thread and a process tree.
inline constexpr std::size_t kMaxCallsRunning = 64;
/// Calls beyond these are answered RATE_LIMITED; reading never stops for them.
inline constexpr std::size_t kMaxCallsQueued = 256;
/// Above this much unsent output no further call starts: a reader that stalls is owed no more work.
inline constexpr std::size_t kOutputPausesCallsBytes = 8 * kMiB;
/// Above this much unsent output nothing more is read: only then can a flood of cheap requests
/// from a client that reads nothing not grow the process.
inline constexpr std::size_t kOutputPausesReadingBytes = 16 * kMiB;
/// Above this much unsent output progress and log messages are dropped; replies never are.
inline constexpr std::size_t kOutputDropsNoticesBytes = 256 * kKiB;

/// A client that speaks something else (scp, a person) is told so instead of left hanging.
inline constexpr std::size_t kHelloMaxLines = 10;
inline constexpr std::size_t kHelloMaxBytes = 64 * kKiB;
inline constexpr std::chrono::seconds kHelloTime{30};

/// After the end of input: how long running calls may still finish.
inline constexpr std::chrono::seconds kEndOfInputGrace{10};
/// After SIGTERM: the same.
inline constexpr std::chrono::seconds kTerminateGrace{20};
/// At the very end: how long cancelled calls may take to kill their process trees.
inline constexpr std::chrono::seconds kUnwindTime{5};
/// At the very end: how long a client that takes no byte is waited for.
inline constexpr std::chrono::seconds kFlushStallTime{10};

/// Two progress messages a second are enough for a person and cheap for a slow link.
inline constexpr std::chrono::milliseconds kProgressInterval{500};
inline constexpr std::size_t kMaxProgressMessageBytes = 512;
/// A call that has nothing new to say still says that it lives: clients give up on silent ones.
inline constexpr std::chrono::seconds kProgressHeartbeat{10};
/// Each open subscription is a request in flight that costs a few bytes; clients open one.
inline constexpr std::size_t kMaxListens = 16;

#ifdef AGENTBOX_SANITIZED
/// Instrumented frames are several times larger.
inline constexpr std::size_t kWorkerStackBytes = 4 * kMiB;
#else
/// Tools keep large data on the heap; 64 of these are still only 32 MiB of address space.
inline constexpr std::size_t kWorkerStackBytes = 512 * kKiB;
#endif
/// An idle session goes back to one thread.
inline constexpr std::chrono::seconds kWorkerIdleTime{30};

/// One line of --help, and one entry of system_info's limits.
struct LimitRow {
  std::string_view name;
  std::uint64_t value;
  std::string_view what;
};
inline constexpr std::array kLimitRows{
    LimitRow{"line_in_bytes", kMaxLineInBytes, "longest request line; a longer one is discarded"},
    LimitRow{"line_out_bytes", kMaxLineOutBytes, "longest reply line"},
    LimitRow{"result_bytes", kMaxResultBytes, "largest encoded result of one tool call"},
    LimitRow{"batch_items", kMaxBatchItems, "messages of one batch (2025-03-26 only)"},
    LimitRow{"id_bytes", kMaxIdBytes, "longest id or progress token, as JSON text"},
    LimitRow{"calls_running", kMaxCallsRunning, "tool calls that run at once"},
    LimitRow{"calls_queued", kMaxCallsQueued, "tool calls that wait; more are RATE_LIMITED"},
    LimitRow{"hello_lines", kHelloMaxLines, "lines that are not JSON before the first message"},
    LimitRow{"hello_bytes", kHelloMaxBytes, "bytes that are not JSON before the first message"},
    LimitRow{"hello_seconds", kHelloTime.count(), "time for the first message"},
    LimitRow{"end_of_input_seconds", kEndOfInputGrace.count(),
             "running calls may finish after the end of input"},
    LimitRow{"terminate_seconds", kTerminateGrace.count(),
             "running calls may finish after SIGTERM"},
    LimitRow{"progress_interval_ms", kProgressInterval.count(),
             "shortest time between two progress messages of a call"},
    LimitRow{"progress_heartbeat_seconds", kProgressHeartbeat.count(),
             "longest time between them, where the caller asked for progress"},
    LimitRow{"subscriptions", kMaxListens, "subscriptions open at once (2026-07-28 only)"},
};

}  // namespace agentbox::mcp
