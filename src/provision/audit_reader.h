// edge: reads a box's audit log over all its files, and goes on where it stopped.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/handle.h"
#include "base/result.h"
#include "provision/audit_line.h"

namespace agentbox::provision {

class AuditReader {
 public:
  /// PATH is the file that the door writes now; older ones are PATH.1 and up. Nothing is opened
  /// yet.
  explicit AuditReader(std::string path) : path_(std::move(path)) {}

  using Taker = std::function<void(const AuditLine& line, std::string_view text)>;
  /// Hands every whole line that is new since the last call to TAKE, the oldest first. Lines that
  /// are none of the door's are counted and skipped. Code::kNotFound where there is no log yet.
  [[nodiscard]] Status read(const Taker& take);

  [[nodiscard]] std::uint64_t strange_lines() const { return strange_; }

 private:
  [[nodiscard]] Status read_open_file(const Taker& take);
  void cut_lines(const Taker& take);

  std::string path_;
  UniqueFd fd_;  ///< of the newest file read
  std::string pending_;
  std::uint64_t strange_ = 0;
};

}  // namespace agentbox::provision
