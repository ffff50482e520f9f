// edge: what waits to be sent: reply lines for the client, records for the door, in the right
// order.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <variant>

#include "agentbox/session.h"
#include "base/record.h"
#include "base/result.h"

namespace agentbox::mcp {

/// A line that follows a record in one list of actions waits until the door has taken the record;
/// all other lines pass it by, so that a slow audit never delays a ping.
class Outbox {
 public:
  /// Takes lines, records and nothing else of ACTIONS.
  void add(Actions& actions);

  [[nodiscard]] bool has_lines() const { return !lines_.empty(); }
  [[nodiscard]] bool has_records() const { return !held_.empty(); }
  [[nodiscard]] bool empty() const { return lines_.empty() && held_.empty(); }
  /// Bytes that wait for the client.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  /// Writes what FD takes without blocking; true where it took anything. SOCKET says what it is: a
  /// pipe takes one piece that is sure to fit, and must have polled writable.
  [[nodiscard]] Result<bool> write_lines(int fd, bool socket);
  /// Sends records until the socket is full; FD below 0 means that nobody wants them.
  [[nodiscard]] Status send_records(int fd);

 private:
  using Held = std::variant<record::ToolCalled, std::string>;
  void add_line(std::string line);
  void took(std::size_t bytes);

  std::deque<std::string> lines_;
  std::size_t first_sent_ = 0;  // bytes of the first line that are gone
  std::size_t bytes_ = 0;
  std::deque<Held> held_;
};

}  // namespace agentbox::mcp
