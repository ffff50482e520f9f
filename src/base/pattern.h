// pure: the one door to the expression library: patterns that take linear time on any text.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace agentbox {

/// How a pattern is read.
struct PatternOptions {
  bool literal = false;  ///< the text stands for itself
  bool ignore_case = false;
  bool multi_line = false;   ///< ^ and $ also match at line ends; else at the text's ends alone
  bool dot_newline = false;  ///< . also matches a newline
};

/// A compiled expression: RE2's syntax, so no back-references and no looking around. Safe to use by
/// several threads at once, cheap to copy.
class Pattern {
 public:
  /// Code::kInvalid with the library's words for what is no expression, or would take too much
  /// memory.
  [[nodiscard]] static Result<Pattern> compile(std::string_view text,
                                               const PatternOptions& options = {});

  /// Whether it matches anywhere in TEXT, which need not be UTF-8.
  [[nodiscard]] bool found_in(std::string_view text) const;

  /// A match as offsets in the text.
  struct Span {
    std::size_t start = 0;
    std::size_t end = 0;
  };
  /// The first match in TEXT that begins at FROM or behind; what stands before FROM still counts
  /// for ^ and \b.
  [[nodiscard]] std::optional<Span> find(std::string_view text, std::size_t from) const;

 private:
  struct Compiled;
  explicit Pattern(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}

  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace agentbox
