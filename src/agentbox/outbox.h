// edge: what waits to be sent: reply lines for the client, records for the door, in the right
// order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <variant>

#include "agentbox/session.h"
#include "base/record.h"
#include "base/result.h"

namespace agentbox::mcp {

/// A line that follows a record in one list of actions waits until the door has said that the
/// record is in its audit; all other lines pass it by, so that a slow audit never delays a ping.
class Outbox {
 public:
  /// Takes lines, records and nothing else of ACTIONS.
  void add(Actions& actions);
  /// Takes the reply to the call ID_JSON back, if it is here and not a byte of it is gone.
  void withdraw(const std::string& id_json);

  [[nodiscard]] bool has_lines() const { return !lines_.empty(); }
  [[nodiscard]] bool has_records() const { return !held_.empty(); }
  /// Whether a record could be sent now: one at a time is with the door.
  [[nodiscard]] bool wants_to_tell() const { return !held_.empty() && !told_; }
  [[nodiscard]] bool empty() const { return lines_.empty() && held_.empty(); }
  /// Bytes that wait for the client, those that wait for the door before included.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  /// Writes what FD takes without blocking; true where it took anything. SOCKET says what it is: a
  /// pipe takes one piece that is sure to fit, and must have polled writable.
  [[nodiscard]] Result<bool> write_lines(int fd, bool socket);
  /// Sends the next record where none is with the door; FD below 0 means that nobody wants them.
  [[nodiscard]] Status send_records(int fd);
  /// The door has the record that was sent last.
  void recorded();

 private:
  struct Line {
    std::string text;
    std::string reply_to;  // see SendLine; empty where it can't be taken back
  };
  using Held = std::variant<record::ToolCalled, Line>;
  void add_line(Line line);
  void took(std::size_t bytes);
  void drop_first();

  std::deque<Line> lines_;      // one that was taken back stays as an empty one
  std::size_t first_sent_ = 0;  // bytes of the first line that are gone
  std::uint64_t dropped_ = 0;   // lines that were first once: numbers a line for good
  std::map<std::string, std::uint64_t> replies_;  // numbers of the lines with reply_to
  std::size_t bytes_ = 0;
  std::deque<Held> held_;
  bool told_ = false;  // the record at the front has been sent
};

}  // namespace agentbox::mcp
