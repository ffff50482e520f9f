// edge: what an execution gives: its output, in memory that does not grow, and in the log of the
// context; its images, as files; and the report of it all.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "agentbox/context_wire.h"

namespace agentbox::mcp {

/// All images of a context: the oldest go.
inline constexpr std::uint64_t kMaxImageFolderBytes = 64UL << 20;

class ContextRecorder {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// FOLDER (borrowed) takes the images; LOG (borrowed, does not block) the output.
  ContextRecorder(int folder, int log) : folder_(folder), log_(log) {}

  /// The execution NUMBER is the next; texts of it are kept up to LIMIT bytes each.
  void open(std::uint64_t number, std::size_t limit, bool restarted);
  /// From here on it is taken for its output that comes.
  void begin(TimePoint now);
  void add_output(std::string_view bytes, bool is_error);
  void add(const DriverLine& line);
  /// The report, which is the one of the last execution from here on.
  [[nodiscard]] ExecutionReport& close(TimePoint now);
  [[nodiscard]] ExecutionReport& last() { return report_; }

  [[nodiscard]] std::uint64_t output_bytes() const {
    return report_.output.total() + report_.errors.total();
  }
  /// Output that the log has not taken yet: while there is some, nothing more is to be read.
  [[nodiscard]] bool has_unlogged() const { return !unlogged_.empty(); }
  void write_log();

 private:
  void add_image(const DriverLine& line);
  [[nodiscard]] bool write_image(const std::string& name, const std::string& data) const;
  void make_room(std::uint64_t bytes);

  int folder_;
  int log_;
  ExecutionReport report_ = {};
  bool is_open_ = false;
  TimePoint began_{};
  std::uint64_t log_end_ = 0;
  std::uint64_t late_ = 0;
  std::string unlogged_;
  std::deque<std::pair<std::string, std::uint64_t>> files_;  // the oldest first
  std::uint64_t file_bytes_ = 0;
};

}  // namespace agentbox::mcp
