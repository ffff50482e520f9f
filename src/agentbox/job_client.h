// edge: a session's way to jobs: to who hosts them, and to the keeper of each.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <string>

#include "base/handle.h"
#include "base/record_io.h"
#include "base/result.h"

namespace agentbox::mcp {

/// How long the host, who waits for nobody, may take to answer.
inline constexpr std::chrono::seconds kJobHostTime{5};

/// What came of waiting for a keeper.
enum class JobNews {
  kRecord,  ///< a record came
  kOver,    ///< the keeper is gone, and with it the job
  kTimeout,
  kCancelled,  ///< the call was
};

/// A line to one keeper, for one call.
class JobLine {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  explicit JobLine(UniqueFd socket) : socket_(std::move(socket)) {}

  /// A keeper that is gone shows in the next receive().
  void send(const record::Record& message, std::initializer_list<int> fds = {}) const;
  /// The next record in MESSAGE. CANCEL: readable once nobody waits any more; -1: none.
  [[nodiscard]] JobNews receive(record::Record& message, TimePoint deadline, int cancel) const;
  /// Waits for the answer to a request. kOver also where the keeper says so itself.
  [[nodiscard]] JobNews receive_done(record::JobDone& done, TimePoint deadline, int cancel) const;

 private:
  UniqueFd socket_;
};

struct GivenJob {
  std::string id;
  JobLine line;
};

class JobClient {
 public:
  /// LINE leads to the host; not valid: there is none.
  explicit JobClient(UniqueFd line) : line_(std::move(line)) {}

  /// A keeper for a new job. Code::kExists (what: the id of the live job with that name), kLimit
  /// where there are too many, kUnavailable where there is no host or it does not answer.
  [[nodiscard]] Result<GivenJob> start(const std::string& name);
  /// Code::kNotFound where no live job has that id.
  [[nodiscard]] Result<GivenJob> connect(const std::string& id);
  /// The end of a new line to the host, for a program that starts jobs itself.
  [[nodiscard]] Result<UniqueFd> new_line();
  /// Has the keeper killed, and its job with it.
  void doom(const std::string& id);

 private:
  struct Given {
    std::string id;
    UniqueFd line;
  };
  [[nodiscard]] Result<Given> ask(const record::Record& request);
  [[nodiscard]] Result<GivenJob> ask_for_job(const record::Record& request);

  std::mutex mutex_;  // one question at a time, so that each gets its own answer
  UniqueFd line_;
};

}  // namespace agentbox::mcp
