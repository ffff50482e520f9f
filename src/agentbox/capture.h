// pure: keeps the head and the tail of an output of any length, and words them for a reply.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace agentbox::mcp {

/// The first half and the last half of CAP bytes of a stream, in memory that does not grow.
class HeadTail {
 public:
  explicit HeadTail(std::size_t cap) : head_cap_(cap / 2), tail_cap_(cap - cap / 2) {}

  void add(std::string_view bytes);

  [[nodiscard]] std::uint64_t total() const { return total_; }
  /// Whether something in the middle is gone.
  [[nodiscard]] bool is_cut() const { return total_ > head_cap_ + tail_cap_; }

  struct Pieces {
    std::string head;
    std::string tail;  ///< empty where nothing is cut
    std::uint64_t omitted = 0;
  };
  /// What is kept. Where something was cut, the cut lies between lines, or at least between
  /// characters, so a little less than CAP comes out.
  [[nodiscard]] Pieces pieces() const;
  /// What has these pieces.
  [[nodiscard]] static HeadTail of(const Pieces& pieces);

 private:
  std::size_t head_cap_;
  std::size_t tail_cap_;
  std::uint64_t total_ = 0;
  std::string head_;
  std::string tail_;  // at most twice tail_cap_; its end counts
};

/// One stream of a command as a reply shows it.
struct ShownStream {
  std::string content;      ///< UTF-8 as it was, or base64
  bool is_base64 = false;   ///< the bytes are not UTF-8
  std::string text;         ///< for people and models: disturbing characters made visible
  std::size_t changed = 0;  ///< how many
};

/// A marker takes the place of what was cut; WHERE says how to see the whole.
[[nodiscard]] ShownStream show_stream(const HeadTail& stream, std::string_view where);

/// "[... 1234 bytes omitted; WHERE ...]" on a line of its own.
[[nodiscard]] std::string omission_marker(std::uint64_t omitted, std::string_view where);

/// How many bytes at the end of BYTES start a character that is not complete: 0 to 3.
[[nodiscard]] std::size_t incomplete_suffix(std::string_view bytes);

/// How many bytes at the start of BYTES continue a character that began before: 0 to 3.
[[nodiscard]] std::size_t continuation_prefix(std::string_view bytes);

}  // namespace agentbox::mcp
