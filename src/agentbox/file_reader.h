// edge: takes pieces out of an open file, by bytes or by lines, and scans it whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "agentbox/outcome.h"
#include "agentbox/workspace.h"

namespace agentbox::mcp {

/// What was read and where it lies in the file.
struct FilePiece {
  std::string bytes = {};
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> start_line = {};
  bool cut_short = false;  ///< fewer lines than asked for, because of the byte limit
};

/// What going through the whole file tells.
struct FileScan {
  std::string sha256;
  std::uint64_t lines = 0;
};

/// Every piece has at most LIMIT bytes, or one character more. Once CANCELLED says true, long ways
/// through the file end with an error.
class FileReader {
 public:
  FileReader(const Opened& file, std::size_t limit, std::function<bool()> cancelled)
      : file_(file), limit_(limit), cancelled_(std::move(cancelled)) {}

  /// From OFFSET on; text is trimmed to whole characters unless RAW.
  [[nodiscard]] Outcome<FilePiece> bytes(std::uint64_t offset, bool raw) const;
  /// The first LINES lines from the byte AT on.
  [[nodiscard]] Outcome<FilePiece> head(std::uint64_t at, std::size_t lines) const;
  [[nodiscard]] Outcome<FilePiece> tail(std::size_t lines) const;
  /// COUNT lines from line START (the first is 1).
  [[nodiscard]] Outcome<FilePiece> lines(std::uint64_t start, std::size_t count) const;

  [[nodiscard]] Outcome<FileScan> scan() const;
  [[nodiscard]] Outcome<std::string> first_bytes(std::size_t count) const { return at(0, count); }
  [[nodiscard]] std::uint64_t size() const {
    return static_cast<std::uint64_t>(file_.info.st_size);
  }

 private:
  [[nodiscard]] Outcome<std::string> at(std::uint64_t offset, std::size_t size) const;

  const Opened& file_;
  std::size_t limit_;
  std::function<bool()> cancelled_;
};

}  // namespace agentbox::mcp
