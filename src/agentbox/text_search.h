// pure: lines of a text that match, with the lines around them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/pattern.h"

namespace agentbox::mcp {

struct LineMatch {
  std::uint64_t line = 0;    ///< from 1
  std::uint64_t column = 0;  ///< byte column of the match, from 1
  std::string text;          ///< the line without its end, or the lines that the match spans
  std::vector<std::string> before = {};
  std::vector<std::string> after = {};
};

struct TextSearch {
  const Pattern* pattern = nullptr;
  bool multiline = false;  ///< a match may span lines; else each line is a text of its own
  std::size_t before = 0;
  std::size_t after = 0;
  std::size_t max_line_bytes = 400;  ///< of a longer line the part around the match is kept
  bool count_only = false;           ///< matches carry no text
};

/// What the matches of one text may come to; then it counts as cut at the limit.
inline constexpr std::size_t kMaxMatchBytes = 8UL << 20;

/// Goes through one text that arrives in windows. Each line counts once, however often it matches.
class TextSearcher {
 public:
  explicit TextSearcher(const TextSearch& search) : search_(search) {}

  /// Looks at WINDOW, which begins at the start of a line; LAST says that the text ends with it.
  /// Adds to MATCHES until it holds LIMIT or kMaxMatchBytes. Returns how many bytes of WINDOW are
  /// done with: the next window begins there, and is longer than what was left over. Lines that can
  /// be left over: those a match at the end needs around it, and a last one without an end.
  std::size_t take(std::string_view window, bool last, std::vector<LineMatch>& matches,
                   std::size_t limit);
  [[nodiscard]] std::size_t kept_bytes() const { return kept_bytes_; }
  /// False once kMaxMatchBytes are reached.
  [[nodiscard]] bool has_room() const { return kept_bytes_ < kMaxMatchBytes; }

 private:
  struct Range {
    std::size_t start = 0;
    std::size_t end = 0;
  };
  [[nodiscard]] LineMatch describe(std::string_view window, Range line, std::size_t match) const;

  const TextSearch& search_;
  std::uint64_t line_ = 1;    // of the window's first byte
  std::size_t searched_ = 0;  // bytes at the window's start that are there for context only
  std::size_t kept_bytes_ = 0;
};

}  // namespace agentbox::mcp
