// edge: a keeper's ends of its job's output and input: pipes, or one terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agentbox/job_input.h"
#include "agentbox/job_log.h"
#include "agentbox/job_plan.h"
#include "base/handle.h"
#include "base/record.h"

namespace agentbox::mcp {

/// What became of input: 0 or an errno, and how many bytes were written.
struct InputDone {
  int error = 0;
  std::uint64_t count = 0;
};

class JobStreams {
 public:
  /// The command's ends.
  struct Theirs {
    UniqueFd input;
    UniqueFd output;
  };

  /// Makes fresh ones as PLAN wants them: an errno, or 0 and THEIRS.
  [[nodiscard]] int open(const JobPlan& plan, Theirs& theirs);
  void close();

  /// Readable when there is output; -1: there will be none.
  [[nodiscard]] int output_fd() const { return output_.get(); }
  /// Moves at most LIMIT bytes of output to LOG.
  void read_into(LogWriter& log, std::size_t limit);

  /// Begins to write input; nothing where it has to be gone on with when inlet_fd() takes more.
  [[nodiscard]] std::optional<InputDone> take(const record::JobInput& wanted,
                                              std::vector<UniqueFd> fds);
  [[nodiscard]] std::optional<InputDone> go_on();
  [[nodiscard]] InputDone give_up();
  [[nodiscard]] bool is_writing() const { return pending_.has_value(); }
  [[nodiscard]] int inlet_fd() const { return input_.valid() ? input_.get() : output_.get(); }

  /// An errno, or 0.
  [[nodiscard]] int resize(std::uint32_t columns, std::uint32_t rows) const;

 private:
  bool terminal_ = false;
  UniqueFd output_;
  UniqueFd input_;  // a pipe; a terminal's input is output_
  std::optional<JobInput> pending_;
  std::string buffer_;
};

}  // namespace agentbox::mcp
