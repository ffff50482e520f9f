// pure: what a session and the host of a code context say to each other, a JSON object each. Code
// of the box can be at either end: what comes is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agentbox/capture.h"
#include "agentbox/context_driver.h"
#include "base/json.h"
#include "base/result.h"

namespace agentbox::mcp {

inline constexpr std::size_t kMaxCodeBytes = 1UL << 20;
/// Names and values of the environment together.
inline constexpr std::size_t kMaxContextVariables = 1024;
inline constexpr std::size_t kMaxContextNameBytes = 64;

struct ContextRequest {
  enum class Kind {
    kOpen,       ///< once, and first: what the context is; answered kStatus
    kExecute,    ///< answered kStarted, kProgress, then kDone; or kBusy
    kWait,       ///< for the end of what runs, or for the last report; kNothing where there is none
    kDetach,     ///< who asked for an execution goes, and it shall run on; kDetached
    kInterrupt,  ///< what runs; answered kStatus, which tells whether something did
    kStatus,     ///< answered once the interpreter has started, or has failed to
  };
  Kind kind = Kind::kStatus;
  std::string code = {};
  std::int64_t timeout_ms = 0;
  std::int64_t output_bytes = 0;  ///< of each stream and text
  // Of kOpen.
  std::string language = {};
  std::string program = {};  ///< the interpreter
  std::string name = {};
  std::string folder = {};  ///< where it starts, as a path of the workspace
  std::int64_t idle_seconds = 0;
  std::vector<std::string> variables = {};  ///< name, value, name, value...
};

enum class ExecutionStatus {
  kOk,           ///< also where the code raised an error: then there is one
  kInterrupted,  ///< somebody asked for it
  kTimedOut,
  kExited,   ///< the interpreter ended by itself
  kDied,     ///< a signal of somebody else's ended it
  kNoStart,  ///< there was no interpreter to run it
};
[[nodiscard]] std::string_view execution_status_name(ExecutionStatus status);

/// One image, a file in the folder of the context.
struct CodeImage {
  std::string file = {};
  std::string mime = {};
  std::uint64_t bytes = 0;
};

struct ExecutionReport {
  std::uint64_t number = 0;  ///< of executions of this context, from 1
  ExecutionStatus status = ExecutionStatus::kOk;
  bool lost_state = false;  ///< the interpreter is gone, with all that was defined in it
  bool restarted = false;   ///< this was the first of a new interpreter, after an earlier one's end
  HeadTail output{0};
  HeadTail errors{0};
  std::optional<std::string> result = {};  ///< the last expression's value as text, cut
  std::uint64_t result_bytes = 0;
  std::optional<CodeError> error = {};
  std::optional<int> exit_code = {};
  int signal = 0;  ///< that ended the interpreter
  std::vector<CodeImage> images = {};
  std::uint64_t images_left_out = 0;
  std::uint64_t log_start = 0;   ///< where its output begins in the log of the context
  std::uint64_t late_bytes = 0;  ///< of output between the execution before and this one
  std::uint64_t unread = 0;      ///< an earlier execution whose report nobody fetched
  std::int64_t duration_ms = 0;
};

struct ContextStatus {
  std::string language = {};
  std::string name = {};
  std::string folder = {};  ///< where the interpreter started
  std::string version = {};
  std::int64_t pid = -1;  ///< of the interpreter; -1: there is none now
  bool busy = false;
  bool never_started = false;  ///< the interpreter could not be started
  std::int64_t busy_ms = 0;    ///< for how long
  std::int64_t idle_ms = 0;    ///< since the last use
  std::uint64_t number = 0;    ///< of the last execution
};

struct ContextReply {
  enum class Kind { kStarted, kProgress, kDone, kBusy, kDetached, kNothing, kStatus };
  Kind kind = Kind::kNothing;
  std::uint64_t output_bytes = 0;  ///< kProgress
  ExecutionReport report = {};     ///< kDone; of kStarted: number and restarted
  ContextStatus status = {};       ///< kBusy, kDetached, kNothing, kStatus
};

[[nodiscard]] OrderedJson write_context_request(const ContextRequest& request);
[[nodiscard]] Result<ContextRequest> read_context_request(const Json& json);
[[nodiscard]] OrderedJson write_context_reply(const ContextReply& reply);
[[nodiscard]] Result<ContextReply> read_context_reply(const Json& json);

/// The name of an image's file: nothing but such a name is ever opened.
[[nodiscard]] std::string image_file_name(std::uint64_t number, std::size_t index,
                                          std::string_view suffix);
[[nodiscard]] bool is_image_file_name(std::string_view name);

}  // namespace agentbox::mcp
