// pure: see pattern.h.
#include "base/pattern.h"

#include <re2/re2.h>

#include <utility>

namespace agentbox {
namespace {

// A pattern of a few hundred bytes can ask for a machine of gigabytes; past this it is refused, or
// matched in a slower way that needs no memory.
constexpr std::int64_t kMaxMemoryBytes = 8 << 20;

RE2::Options library_options(const PatternOptions& wanted) {
  RE2::Options options;
  options.set_log_errors(false);  // what a caller wrote is no business of our log
  options.set_max_mem(kMaxMemoryBytes);
  options.set_literal(wanted.literal);
  options.set_case_sensitive(!wanted.ignore_case);
  options.set_dot_nl(wanted.dot_newline);
  return options;
}

}  // namespace

struct Pattern::Compiled {
  Compiled(const std::string& text, const PatternOptions& options)
      : machine(text, library_options(options)) {}
  RE2 machine;
};

Result<Pattern> Pattern::compile(std::string_view text, const PatternOptions& options) {
  const std::string source =
      (options.multi_line && !options.literal ? "(?m)" : "") + std::string(text);
  auto compiled = std::make_shared<const Compiled>(source, options);
  if (!compiled->machine.ok()) {
    return Error{Code::kInvalid, compiled->machine.error()};
  }
  return Pattern(std::move(compiled));
}

bool Pattern::found_in(std::string_view text) const {
  return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), compiled_->machine);
}

std::optional<Pattern::Span> Pattern::find(std::string_view text, std::size_t from) const {
  re2::StringPiece match;
  if (!compiled_->machine.Match(re2::StringPiece(text.data(), text.size()), from, text.size(),
                                RE2::UNANCHORED, &match, 1)) {
    return std::nullopt;
  }
  const auto start = static_cast<std::size_t>(match.data() - text.data());
  return Span{start, start + match.size()};
}

}  // namespace agentbox
