// edge: looks after what answered commands left running, until they end or the session does.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "agentbox/job_record.h"
#include "agentbox/keeper.h"
#include "agentbox/spill.h"
#include "base/handle.h"
#include "base/result.h"

namespace agentbox::mcp {

/// A command that has been answered and still has processes.
struct SessionCommand {
  Keeper keeper;
  UniqueFd output;  ///< a pipe, or its terminal
  UniqueFd errors;
  Spill spill;
  JobRecord record;
  std::optional<std::chrono::steady_clock::time_point> stop_at = {};  ///< its timeout
  std::optional<std::chrono::steady_clock::time_point> kill_at = {};  ///< it was told to end
  std::vector<UniqueFd> watchers = {};
};

/// Reads what they still print, so that none blocks or dies of a full or closed pipe, keeps to
/// their timeouts, and reaps them. Its end ends them all.
class SessionCommands {
 public:
  SessionCommands() = default;
  SessionCommands(const SessionCommands&) = delete;
  SessionCommands& operator=(const SessionCommands&) = delete;
  ~SessionCommands();

  /// Before a command is started that may have to be adopted: there must be a thread for it. Errors
  /// carry the errno.
  [[nodiscard]] Status prepare();
  void adopt(SessionCommand command);

  /// Those that still run.
  [[nodiscard]] std::vector<JobRecord> list() const;
  [[nodiscard]] std::optional<JobRecord> find(const std::string& id) const;

  /// Readable when the command has written something, hung up when it has ended. Not valid where it
  /// has ended already; the same for each of the following.
  [[nodiscard]] UniqueFd watch(const std::string& id);
  [[nodiscard]] bool stop(const std::string& id, std::chrono::milliseconds grace,
                          const std::string& why);
  [[nodiscard]] bool signal(const std::string& id, int number, bool tree);
  /// A copy of its terminal's descriptor.
  [[nodiscard]] UniqueFd terminal(const std::string& id) const;

 private:
  using Commands = std::list<SessionCommand>;

  void run();
  void wait();
  void serve(const std::vector<int>& ready);
  [[nodiscard]] bool serve_one(SessionCommand& command, const std::vector<int>& ready);
  void end(SessionCommand& command);
  [[nodiscard]] SessionCommand* at(const std::string& id);
  void wake() const;

  mutable std::mutex mutex_;  // guards everything below
  Commands commands_;
  bool ending_ = false;
  UniqueFd wake_;
  std::thread thread_;  // started by prepare()
};

}  // namespace agentbox::mcp
