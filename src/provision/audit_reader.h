// edge: reads an audit log over all its files, and goes on where it stopped.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/handle.h"
#include "base/result.h"
#include "provision/audit_line.h"

namespace agentbox::provision {

/// Whose word the path is.
enum class LogPath : std::uint8_t {
  kOfBox,   ///< a folder of the door's user: no link is followed, and only a regular file is read
  kChosen,  ///< the operator's: links and pipes are what they seem; `-` is standard input
};

class AuditReader {
 public:
  /// PATH is the file that the door writes now; older ones are PATH.1 and up. Nothing is opened
  /// yet.
  explicit AuditReader(std::string path, LogPath kind = LogPath::kOfBox)
      : path_(std::move(path)), kind_(kind) {}

  using Taker = std::function<void(const AuditLine& line, std::string_view text)>;
  /// For a line that is not one of the audit; of a very long one only a part.
  using OtherTaker = std::function<void(std::string_view text)>;
  /// Hands every whole line that is new since the last call to TAKE, the oldest first, without its
  /// CR and LF; what is no audit line goes to OTHER, empty lines to neither. Code::kNotFound where
  /// there is no log yet.
  [[nodiscard]] Status read(const Taker& take, const OtherTaker& other = {});

  /// What came last has no newline.
  [[nodiscard]] bool ends_within_line() const { return !pending_.empty() || skipping_; }
  [[nodiscard]] bool has_carriage_returns() const { return carriage_returns_; }

 private:
  [[nodiscard]] Status read_open_file(const Taker& take, const OtherTaker& other);
  [[nodiscard]] Result<UniqueFd> open(const std::string& path) const;
  void end_file(const OtherTaker& other);
  void cut_lines(const Taker& take, const OtherTaker& other);

  std::string path_;
  LogPath kind_;
  UniqueFd fd_;  ///< of the newest file read
  std::string pending_;
  bool skipping_ = false;  ///< within a line that is too long
  bool carriage_returns_ = false;
};

}  // namespace agentbox::provision
