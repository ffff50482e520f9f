// pure: what a tool is: its published description, its handler, and what the handler gives back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agentbox/arguments.h"
#include "agentbox/content.h"
#include "base/json.h"

namespace agentbox::mcp {

class CallContext;  // call.h

// Why a call failed. The caller reads one text block, `TOOL: CODE: message. Hint.`, composed by
// the session from these fields; `code`, `path` and `details` also go to
// `_meta["agentbox/error"]`.
struct ToolError {
  std::string code;          // stable, upper case: ENOENT, ESCAPE, INVALID_ARGUMENT, ...
  std::string message;       // the cause, without a full stop
  std::string hint = {};     // the next step, without a full stop; may be empty
  std::string path = {};     // the path concerned as the caller would write it; may be empty
  OrderedJson details = {};  // null, or an object
  // When set, replaces the composed text word for word (texts that older clients match on).
  std::string verbatim = {};
};

// What a handler returns. On success text and structured must each be complete by themselves:
// some clients show only one of the two. Text need not be valid UTF-8 when made (bad bytes are
// replaced on the way out), but a tool that may hold binary data says so and uses base64, or gives
// it in a block of its own. Clients show the structured copy in place of all content, so a result
// with images or the like has none, and its tool declares no output_schema.
// NOLINTNEXTLINE(bugprone-exception-escape): moving JSON asserts but never throws
struct ToolResult {
  std::vector<std::string> texts = {};    // one text content block each
  std::vector<ContentBlock> blocks = {};  // after the texts, in this order
  OrderedJson structured = {};            // an object conforming to output_schema, or null
  std::optional<ToolError> error = {};    // set: isError, and everything else is ignored
};

[[nodiscard]] inline ToolResult tool_failure(std::string code, std::string message,
                                             std::string hint = {}) {
  ToolResult result;
  result.error =
      ToolError{.code = std::move(code), .message = std::move(message), .hint = std::move(hint)};
  return result;
}

// What the audit's record of a call says beyond name and outcome. Filled by the handler through
// CallContext::facts().
struct CallFacts {
  std::string path = {};                       // raw; escaped and cut by the sender
  std::uint64_t bytes_in = 0;                  // content written
  std::uint64_t bytes_out = 0;                 // content returned
  std::optional<std::int32_t> exit_code = {};  // of a command
};

// The four hints of the protocol; all are always published.
struct ToolHints {
  bool read_only = false;  // also: what a key of role reader may call
  bool destructive = true;
  bool idempotent = false;
  bool open_world = true;
};

// A handler is plain blocking code on a worker thread with a 512 KiB stack. It must watch
// context.cancel_fd() wherever it waits, and return soon after; what it returns then is dropped.
using ToolHandler = ToolResult (*)(const Arguments& arguments, CallContext& context);

// From which profile on a tool is offered. kAdmin: in every profile, to keys of role admin alone.
enum class Tier : std::uint8_t { kCore, kStandard, kFull, kAdmin };

struct Tool {
  std::string_view name;
  std::string_view title;
  std::string_view description;  // below 2 KB; the first sentence is what a search shows
  std::vector<Argument> arguments = {};
  std::string_view output_schema = {};  // JSON text with an object root; empty: none declared
  Tier tier = Tier::kStandard;
  ToolHints hints = {};
  std::string_view meta = {};  // JSON text of the tool's `_meta` object; empty: none
  ToolHandler handler = nullptr;
  bool may_be_task = false;  // clients may have it run as a task, which outlives their session
};

}  // namespace agentbox::mcp
