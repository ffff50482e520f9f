// edge: input on its way to a command that may not take it now.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/handle.h"

namespace agentbox::mcp {

class JobInput {
 public:
  /// BYTES from the start of FILE; END_KEY: then what a terminal reads as the end of input.
  JobInput(UniqueFd file, std::uint64_t bytes, bool end_key)
      : file_(std::move(file)), left_(bytes), end_key_(end_key) {}

  bool closes = false;  ///< the inlet is closed after it

  /// Writes what FD, which does not block, takes now. 0 once all is written, an errno where it
  /// cannot be, nothing where it has to be called again.
  [[nodiscard]] std::optional<int> write_to(int fd);
  /// Bytes of the file that were written.
  [[nodiscard]] std::uint64_t written() const { return written_; }

 private:
  [[nodiscard]] bool refill();

  UniqueFd file_;
  std::uint64_t left_;  // not read from the file yet
  bool end_key_;
  std::uint64_t written_ = 0;
  std::string piece_ = {};
};

}  // namespace agentbox::mcp
