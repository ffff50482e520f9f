// pure: see capture.h.
#include "agentbox/capture.h"

#include <algorithm>

#include "agentbox/visible.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

// A cut between lines may cost this part of a half; longer lines are cut in the middle.
constexpr std::size_t kLineSearchPart = 4;
constexpr std::size_t kMaxContinuation = 3;

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U; }

std::size_t sequence_length(char byte) {
  const auto lead = static_cast<unsigned char>(byte);
  return lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
}

std::string_view end_of_head(std::string_view head) {
  const std::size_t newline = head.rfind('\n');
  if (newline != std::string_view::npos && head.size() - newline <= head.size() / kLineSearchPart) {
    return head.substr(0, newline + 1);
  }
  head.remove_suffix(incomplete_suffix(head));
  return head;
}

std::string_view start_of_tail(std::string_view tail) {
  const std::size_t newline = tail.find('\n');
  if (newline != std::string_view::npos && newline < tail.size() / kLineSearchPart) {
    return tail.substr(newline + 1);
  }
  tail.remove_prefix(continuation_prefix(tail));
  return tail;
}

}  // namespace

std::size_t incomplete_suffix(std::string_view bytes) {
  for (std::size_t back = 1; back <= std::min(bytes.size(), kMaxContinuation); ++back) {
    const char byte = bytes[bytes.size() - back];
    if (!is_continuation(byte)) {
      return sequence_length(byte) > back ? back : 0;
    }
  }
  return 0;
}

std::size_t continuation_prefix(std::string_view bytes) {
  std::size_t count = 0;
  while (count < std::min(bytes.size(), kMaxContinuation) && is_continuation(bytes[count])) {
    ++count;
  }
  return count;
}

void HeadTail::add(std::string_view bytes) {
  total_ += bytes.size();
  const std::size_t to_head = std::min(bytes.size(), head_cap_ - head_.size());
  head_.append(bytes.substr(0, to_head));
  bytes.remove_prefix(to_head);
  if (bytes.size() > tail_cap_) {
    bytes.remove_prefix(bytes.size() - tail_cap_);
  }
  tail_.append(bytes);
  if (tail_.size() > 2 * tail_cap_) {
    tail_.erase(0, tail_.size() - tail_cap_);
  }
}

HeadTail::Pieces HeadTail::pieces() const {
  if (!is_cut()) {
    return {.head = head_ + tail_, .tail = {}, .omitted = 0};
  }
  const std::string_view last =
      std::string_view(tail_).substr(tail_.size() - std::min(tail_.size(), tail_cap_));
  const std::string_view head = end_of_head(head_);
  const std::string_view tail = start_of_tail(last);
  return {.head = std::string(head),
          .tail = std::string(tail),
          .omitted = total_ - head.size() - tail.size()};
}

HeadTail HeadTail::of(const Pieces& pieces) {
  HeadTail stream(0);
  stream.head_cap_ = pieces.head.size();
  stream.tail_cap_ = pieces.tail.size();
  stream.head_ = pieces.head;
  stream.tail_ = pieces.tail;
  stream.total_ = pieces.head.size() + pieces.tail.size() + pieces.omitted;
  return stream;
}

std::string omission_marker(std::uint64_t omitted, std::string_view where) {
  return "[... " + std::to_string(omitted) + " bytes omitted; " + std::string(where) + " ...]\n";
}

ShownStream show_stream(const HeadTail& stream, std::string_view where) {
  HeadTail::Pieces pieces = stream.pieces();
  ShownStream shown;
  const Visible head = make_visible(pieces.head);
  const Visible tail = make_visible(pieces.tail);
  std::string raw = std::move(pieces.head);
  shown.text = head.text;
  shown.changed = head.changed + tail.changed;
  if (stream.is_cut()) {
    const std::string marker =
        (raw.empty() || raw.ends_with('\n') ? "" : "\n") + omission_marker(pieces.omitted, where);
    raw += marker + pieces.tail;
    shown.text += marker + tail.text;
  }
  shown.is_base64 = !is_utf8(raw);
  shown.content = shown.is_base64 ? base64_encode(raw) : std::move(raw);
  return shown;
}

}  // namespace agentbox::mcp
