// pure: see event_ring.h.
#include "agentbox/event_ring.h"

#include <algorithm>
#include <array>
#include <utility>

#include "agentbox/job_id.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

struct OpName {
  ChangeOp op;
  std::string_view name;
};
constexpr std::array kOpNames{
    OpName{ChangeOp::kCreate, "create"}, OpName{ChangeOp::kModify, "modify"},
    OpName{ChangeOp::kDelete, "delete"}, OpName{ChangeOp::kMove, "move"},
    OpName{ChangeOp::kAttrib, "attrib"}, OpName{ChangeOp::kOverflow, "overflow"}};

// Numbers that JSON readers keep exactly.
constexpr std::uint64_t kMostSeq = (1ULL << 53) - 1;

std::size_t bytes_of(const FileChange& change) {
  return change.path.size() + change.old_path.size();
}

}  // namespace

std::string_view change_op_name(ChangeOp op) {
  for (const OpName& each : kOpNames) {
    if (each.op == op) {
      return each.name;
    }
  }
  return "unknown";
}

std::optional<ChangeOp> change_op_of(std::string_view name) {
  for (const OpName& each : kOpNames) {
    if (each.name == name) {
      return each.op;
    }
  }
  return std::nullopt;
}

void EventRing::add(FileChange change) {
  bytes_ += bytes_of(change);
  changes_.push_back(std::move(change));
  ++last_;
  while (changes_.size() > limit_ || (bytes_ > kMaxRingBytes && changes_.size() > 1)) {
    bytes_ -= bytes_of(changes_.front());
    changes_.pop_front();
  }
}

EventRing::Piece EventRing::after(std::uint64_t after, std::size_t most,
                                  std::size_t most_bytes) const {
  Piece piece;
  const std::uint64_t gone = last_ - changes_.size();
  if (after < gone) {
    piece.next = last_;
    piece.lost = true;
    return piece;
  }
  std::size_t bytes = 0;
  piece.next = after;
  for (std::size_t i = after - gone; i < changes_.size() && piece.changes.size() < most; ++i) {
    bytes += bytes_of(changes_[i]);
    if (bytes > most_bytes && !piece.changes.empty()) {
      break;
    }
    piece.changes.push_back({.seq = ++piece.next, .change = changes_[i]});
  }
  return piece;
}

std::string encode_cursor(const WatchCursor& cursor) {
  return cursor.watch + "." + std::to_string(cursor.seq);
}

Result<WatchCursor> decode_cursor(std::string_view text) {
  const std::size_t dot = std::min(text.find('.'), text.size());
  const std::string_view watch = text.substr(0, dot);
  const auto seq = parse_decimal(text.substr(std::min(dot + 1, text.size())));
  if (!is_job_id(watch) || !seq.ok() || *seq > kMostSeq) {
    return Error{Code::kInvalid, "not a cursor"};
  }
  return WatchCursor{.watch = std::string(watch), .seq = *seq};
}

}  // namespace agentbox::mcp
