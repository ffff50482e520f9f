// edge: a process's output on disk: pieces of a bounded size, named by where in the whole they
// begin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/handle.h"
#include "base/result.h"

namespace agentbox::mcp {

/// One file of a job's log. When it is full a new one begins, and of the old ones the last is kept:
/// so this much of the newest output can always be read, and twice as much is on disk at most.
inline constexpr std::uint64_t kJobLogPieceBytes = 32ULL << 20;
/// The newest piece also goes by this name, which does not change.
inline constexpr const char* kJobLogName = "log";

/// Writes one log into FOLDER (borrowed). The offsets of what it takes only grow.
class LogWriter {
 public:
  /// ROTATE: where PIECE_BYTES are full go on in a new file; else nothing more is kept.
  LogWriter(int folder, std::uint64_t piece_bytes, bool rotate)
      : folder_(folder), piece_bytes_(piece_bytes), rotate_(rotate) {}

  [[nodiscard]] Status open();
  void add(std::string_view bytes);

  /// The offset behind the last byte that is on disk.
  [[nodiscard]] std::uint64_t end() const { return end_; }
  /// Bytes that are in no file. Where a log that rotates goes on behind them, a line in it says so.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  [[nodiscard]] Status begin_piece();
  [[nodiscard]] bool close_gap();

  int folder_;
  std::uint64_t piece_bytes_;
  bool rotate_;
  UniqueFd file_;
  std::uint64_t begin_ = 0;     // of the current piece
  std::uint64_t previous_ = 0;  // where the piece before it begins
  bool has_previous_ = false;
  std::uint64_t end_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t told_ = 0;  // of them, those that a line in the log speaks of
};

/// A part of a log and where it lies.
struct LogPart {
  std::string bytes = {};
  std::uint64_t at = 0;     ///< of the first byte; after the place asked for where that is gone
  std::uint64_t begin = 0;  ///< the oldest byte there is
  std::uint64_t end = 0;    ///< behind the newest
};

/// At most LIMIT bytes of the log in FOLDER from offset AT on. What lies there was perhaps written
/// by others: only regular files are read, and no link is followed.
[[nodiscard]] Result<LogPart> read_log(int folder, std::uint64_t at, std::size_t limit);

}  // namespace agentbox::mcp
