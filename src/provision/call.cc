// edge: see call.h.
#include "provision/call.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/handle.h"
#include "base/json.h"
#include "provision/mcp_client.h"
#include "provision/mcp_reply.h"
#include "provision/proof.h"

namespace agentbox::provision {
namespace {

/// Arguments of a tool on standard input: a line of the protocol is at most 16 MiB.
constexpr std::size_t kMaxArgumentBytes = 15U << 20U;

Answer<Json> read_arguments(const std::string& given) {
  std::string text = given;
  if (given == "-") {
    AB_TRY(input, read_fd_capped(STDIN_FILENO, kMaxArgumentBytes));
    text = std::move(input);
  }
  auto arguments = parse_json(text);
  if (!arguments.ok() || !arguments->is_object()) {
    return Failure{Exit::kUsage,
                   "the tool's arguments must be a JSON object" +
                       (arguments.ok() ? std::string() : ": " + arguments.error().what),
                   "for example: call NAME shell_exec '{\"command\": \"ls\"}'"};
  }
  return std::move(arguments).value();
}

}  // namespace

Answer<Report> call_tool(const Backend& backend, const Call& call) {
  AB_TRY(box, backend.contact(call.name));
  AB_TRY(arguments, read_arguments(call.arguments));
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(call.timeout_seconds);
  AB_TRY(session,
         open_session(box, std::min(deadline, std::chrono::steady_clock::now() + box.step)));
  AB_TRY(result, session.call_tool(call.tool, arguments, deadline));
  Report report;
  report.json = OrderedJson::parse(dump_json(result));
  report.text = text_of_result(result);
  report.exit = is_error_result(result) ? Exit::kFailed : Exit::kOk;
  return report;
}

}  // namespace agentbox::provision
