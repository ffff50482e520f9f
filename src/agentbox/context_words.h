// pure: what an execution gave, as the reply of code_execute.
#pragma once

#include <string>
#include <vector>

#include "agentbox/context_wire.h"
#include "agentbox/tool.h"

namespace agentbox::mcp {

struct ExecutionView {
  std::string context_id = {};
  std::string language = {};                  ///< of the default context; empty: it is not that
  bool is_new = false;                        ///< this call made it
  std::string signal = {};                    ///< the name of the one that ended the interpreter
  std::vector<std::string> image_paths = {};  ///< of all images
  std::vector<ContentBlock> shown = {};       ///< the first of them, where they are shown
};

/// The tool's whole result: a success, or EXCEPTION, INTERRUPTED, TIMEOUT, CONTEXT_DIED with the
/// output in the text of the error.
[[nodiscard]] ToolResult show_execution(const ExecutionReport& report, ExecutionView view);
/// Whether that is an error, which shows no image.
[[nodiscard]] bool failed_execution(const ExecutionReport& report);

/// The reply where it still runs.
[[nodiscard]] ToolResult show_running(const ContextStatus& status, const ExecutionView& view);

}  // namespace agentbox::mcp
