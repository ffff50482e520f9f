// edge: programs of ours that outlive sessions: what holds an interpreter, a watch or a task. Each
// is agent-box itself under another word, run as a job of the box, and reached by every session
// over a socket in its folder. Agent code can reach that socket too, so both ends check what they
// read.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/jsonrpc.h"
#include "agentbox/outcome.h"
#include "agentbox/processes.h"
#include "base/json.h"

namespace agentbox::mcp {

/// One message; like a line of the protocol.
inline constexpr std::size_t kMaxHostedLineBytes = 8UL << 20;

/// A stream of JSON values, one a line.
class HostedLine {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// SOCKET must not block.
  explicit HostedLine(UniqueFd socket) : socket_(std::move(socket)) {}

  /// Waits until all of it is taken. Code::kTimeout at DEADLINE, or once CANCEL (-1: none) is
  /// readable; Code::kUnavailable where the other end is gone.
  [[nodiscard]] Status send(const OrderedJson& message, TimePoint deadline, int cancel = -1);
  /// The next message, with the same errors. Code::kProtocol: the other end sent something else.
  [[nodiscard]] Result<Json> receive(TimePoint deadline, int cancel = -1);
  /// Borrowed; readable while receive() may have something to take. Look for what is buffered
  /// first: receive() with a deadline that has passed.
  [[nodiscard]] int fd() const { return socket_.get(); }

 private:
  UniqueFd socket_;
  LineSplitter splitter_{kMaxHostedLineBytes};
  std::string piece_;
};

/// What to start.
struct HostedPlan {
  JobKind kind = JobKind::kContext;    ///< one that is_hosted()
  std::string name;                    ///< is_hosted_name(); unique among what lives
  std::vector<std::string> words;      ///< after `agent-box`
  std::uint32_t lifetime_seconds = 0;  ///< 0: no limit
  bool starts_jobs = false;            ///< it gets a line to the spawner of its own
};

/// Starts PLAN with the settings of this session. EEXIST: details.process_id is the one that lives
/// under that name.
[[nodiscard]] Outcome<JobRecord> start_hosted(Box& box, const HostedPlan& plan,
                                              CallContext& context);

/// A line to the program that runs as the job ID; waits for a young one to listen. Code::kNotFound
/// where none lives; Code::kTimeout where it does not answer by DEADLINE or CANCEL is readable. One
/// whose socket agent code has removed can be reached by nobody: it is ended, and counts as none.
[[nodiscard]] Result<HostedLine> dial_hosted(const Box& box, const std::string& id,
                                             std::chrono::steady_clock::time_point deadline,
                                             int cancel);

/// Inside such a program: what it is made of.
struct Hosted {
  std::unique_ptr<Box> box;
  std::string id;     ///< of its job
  UniqueFd folder;    ///< of its job
  UniqueFd listener;  ///< does not block; accept_hosted() takes a caller from it
};

/// Reads the environment, opens the box, listens. Call it before there are threads.
[[nodiscard]] Result<Hosted> open_hosted();
/// The next caller, of the same user as this process; nothing while none waits.
[[nodiscard]] std::optional<HostedLine> accept_hosted(const Hosted& hosted);

}  // namespace agentbox::mcp
