// edge: see file_reader.h.
#include "agentbox/file_reader.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "agentbox/capture.h"
#include "agentbox/file_bytes.h"
#include "agentbox/file_text.h"
#include "agentbox/os_error.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

// Large enough that the calls cost nothing beside the work on the bytes.
constexpr std::size_t kScanBytes = 256 * 1024;
// A character has at most four bytes: so much more is read to end on a whole one.
constexpr std::size_t kCharacterSlack = 3;

ToolError cancelled() { return {.code = "CANCELLED", .message = "the call was cancelled"}; }

}  // namespace

Outcome<std::string> FileReader::at(std::uint64_t offset, std::size_t size) const {
  auto bytes = read_at(file_.fd.get(), offset, size);
  if (!bytes.ok()) {
    return os_error(file_.shown, bytes.error());
  }
  return std::move(*bytes);
}

Outcome<FilePiece> FileReader::bytes(std::uint64_t offset, bool raw) const {
  AB_TRY(bytes, at(offset, limit_ + kCharacterSlack));
  const bool at_end = bytes.size() < limit_ + kCharacterSlack;
  if (raw) {
    bytes.resize(std::min(bytes.size(), limit_));
    return FilePiece{.bytes = std::move(bytes), .offset = offset};
  }
  const Trimmed trimmed = trim_to_characters(bytes, limit_, offset == 0, at_end);
  return FilePiece{.bytes = std::string(trimmed.bytes), .offset = offset + trimmed.start};
}

Outcome<FilePiece> FileReader::head(std::uint64_t start, std::size_t lines) const {
  AB_TRY(bytes, at(start, limit_ + 1));
  const std::string_view wanted = first_lines(std::string_view(bytes), lines);
  FilePiece piece{.bytes = std::string(wanted.substr(0, limit_)), .offset = start};
  piece.cut_short = wanted.size() > limit_;
  if (piece.cut_short) {
    piece.bytes.resize(piece.bytes.size() - incomplete_suffix(piece.bytes));
  }
  return piece;
}

Outcome<FilePiece> FileReader::tail(std::size_t lines) const {
  const std::uint64_t from = size() > limit_ ? size() - limit_ : 0;
  AB_TRY(bytes, at(from, limit_));
  const std::string_view wanted = last_lines(bytes, lines);
  FilePiece piece{.bytes = std::string(wanted), .offset = from + (bytes.size() - wanted.size())};
  piece.cut_short = from > 0 && wanted.size() == bytes.size();
  if (piece.cut_short) {
    const std::size_t stump = continuation_prefix(piece.bytes);
    piece.bytes.erase(0, stump);
    piece.offset += stump;
  }
  return piece;
}

Outcome<FilePiece> FileReader::lines(std::uint64_t start, std::size_t count) const {
  std::uint64_t offset = 0;
  for (std::uint64_t skip = start - 1; skip > 0;) {
    if (cancelled_()) {
      return cancelled();
    }
    AB_TRY(bytes, at(offset, kScanBytes));
    if (bytes.empty()) {
      break;
    }
    const auto newlines = static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end(), '\n'));
    if (newlines < skip) {
      skip -= newlines;
      offset += bytes.size();
    } else {
      offset += first_lines(bytes, static_cast<std::size_t>(skip)).size();
      skip = 0;
    }
  }
  AB_TRY(piece, head(offset, count));
  piece.start_line = start;
  return piece;
}

Outcome<FileScan> FileReader::scan() const {
  Sha256 hash;
  FileScan result;
  bool open_line = false;
  for (std::uint64_t offset = 0;;) {
    if (cancelled_()) {
      return cancelled();
    }
    AB_TRY(bytes, at(offset, kScanBytes));
    if (bytes.empty()) {
      break;
    }
    offset += bytes.size();
    hash.update(bytes);
    result.lines += static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end(), '\n'));
    open_line = !bytes.ends_with('\n');
  }
  result.lines += open_line ? 1U : 0U;
  result.sha256 = hash.hex_digest();
  return result;
}

}  // namespace agentbox::mcp
