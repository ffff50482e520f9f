// pure: path patterns: *, ?, [..], {a,b} and ** for any number of folders.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace agentbox::mcp {

/// What {a,b} may multiply a pattern to.
inline constexpr std::size_t kMaxGlobAlternatives = 128;

/// One compiled pattern, matched against whole relative paths. `*`, `?` and `[..]` never match a
/// slash; `?` and `[..]` take one character of UTF-8, or one byte where there is none. `**` as a
/// whole part stands for any number of folders, at the end for at least one name. A backslash takes
/// the next character as it is. Matching takes time in proportion to pattern times path.
class Glob {
 public:
  /// Code::kInvalid with the reason for what is no pattern.
  [[nodiscard]] static Result<Glob> compile(std::string_view text);

  [[nodiscard]] bool matches(std::string_view path) const;

 private:
  struct Token {
    enum class Kind { kCharacter, kAny, kStar, kClass };
    Kind kind = Kind::kAny;
    char32_t value = 0;
    bool valid = true;  // of kCharacter: false for a byte that is no UTF-8
    bool negated = false;
    std::vector<std::pair<char32_t, char32_t>> ranges = {};
  };
  struct Part {
    bool any_folders = false;  // **
    std::vector<Token> tokens = {};
  };
  using Parts = std::vector<Part>;

  static Result<Parts> compile_parts(std::string_view text);
  static Result<Part> compile_part(std::string_view text);
  static Result<Token> compile_class(std::string_view& rest);
  static bool part_matches(const Part& part, std::string_view name);
  static bool parts_match(const Parts& parts, std::string_view path);

  std::vector<Parts> alternatives_;
};

}  // namespace agentbox::mcp
