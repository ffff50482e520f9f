// pure: see edit.h.
#include "agentbox/edit.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "agentbox/common_ends.h"
#include "agentbox/edit_hint.h"

namespace agentbox::mcp {
namespace {

/// Line numbers that an AMBIGUOUS error lists.
constexpr std::size_t kShownLines = 8;

/// Places that one edit may change: each takes memory while it is made.
constexpr std::size_t kMaxPlaces = 1'000'000;

struct Match {
  std::size_t at = 0;
  std::size_t size = 0;
};

// No more than one beyond kMaxPlaces.
std::vector<Match> find_all(std::string_view text, std::string_view wanted) {
  std::vector<Match> matches;
  for (std::size_t at = 0; at + wanted.size() <= text.size() && matches.size() <= kMaxPlaces;) {
    // Linear whatever the texts are, which string_view::find is not.
    const void* found = ::memmem(text.data() + at, text.size() - at, wanted.data(), wanted.size());
    if (found == nullptr) {
      break;
    }
    const auto start = static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
    matches.push_back({start, wanted.size()});
    at = start + wanted.size();
  }
  return matches;
}

// TEXT with each CRLF as LF, and the way back to the places of the original.
class WithoutReturns {
 public:
  explicit WithoutReturns(std::string_view text) {
    text_.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') {
        removed_.push_back(text_.size());
      } else {
        text_.push_back(text[i]);
      }
    }
  }

  [[nodiscard]] bool removed_any() const { return !removed_.empty(); }
  [[nodiscard]] std::vector<Match> find(std::string_view wanted) const {
    std::vector<Match> matches = find_all(text_, wanted);
    for (Match& match : matches) {
      const std::size_t start = original(match.at);
      match = {start, original(match.at + match.size) - start};
    }
    return matches;
  }

 private:
  [[nodiscard]] std::size_t original(std::size_t at) const {
    const auto before = std::lower_bound(removed_.begin(), removed_.end(), at);
    return at + static_cast<std::size_t>(before - removed_.begin());
  }

  std::string text_;
  std::vector<std::size_t> removed_;  // where in text_ a carriage return stood
};

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  for (;;) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      lines.push_back(text);
      return lines;
    }
    lines.push_back(text.substr(0, end + 1));
    text.remove_prefix(end + 1);
  }
}

bool ends_with_return(std::string_view text, std::size_t newline) {
  return newline > 0 && newline != std::string_view::npos && text[newline - 1] == '\r';
}

void append_with_returns(std::string& out, std::string_view line) {
  if (line.ends_with('\n')) {
    out.append(line.substr(0, line.size() - 1)).append("\r\n");
  } else {
    out.append(line);
  }
}

// What takes the place of one match after another of EDIT in TEXT, from its beginning to its end:
// what is the same for all of them is looked for once.
class Replacement {
 public:
  Replacement(std::string_view text, const TextEdit& edit)
      : text_(text),
        after_(split_lines(edit.new_text)),
        ends_(common_ends(split_lines(edit.old_text), after_)) {}

  // Lines at both ends that the edit leaves alone are copied.
  void append_to(std::string& out, const Match& match) {
    const std::vector<std::string_view> there = split_lines(text_.substr(match.at, match.size));
    for (std::size_t i = 0; i < ends_.head; ++i) {
      out.append(there[i]);
    }
    const bool returns = wants_returns(match);
    for (std::size_t i = ends_.head; i < after_.size() - ends_.tail; ++i) {
      returns ? append_with_returns(out, after_[i]) : static_cast<void>(out.append(after_[i]));
    }
    for (std::size_t i = there.size() - ends_.tail; i < there.size(); ++i) {
      out.append(there[i]);
    }
  }

 private:
  // Whether lines that are new at MATCH end with CRLF: as the first line end in it does, else as
  // that of the line it is in, else as that of the line before, which then is the last of all.
  bool wants_returns(const Match& match) {
    if (next_newline_ != std::string_view::npos && next_newline_ <= match.at) {
      next_newline_ = text_.find('\n', match.at);
    }
    if (next_newline_ == std::string_view::npos && !last_newline_) {
      last_newline_ = text_.rfind('\n');
    }
    return ends_with_return(
        text_, next_newline_ == std::string_view::npos ? *last_newline_ : next_newline_);
  }

  std::string_view text_;
  std::vector<std::string_view> after_;
  CommonEnds ends_;
  std::size_t next_newline_ = 0;  // the first from the match on
  std::optional<std::size_t> last_newline_;
};

std::size_t line_of(std::string_view text, std::size_t at) {
  return static_cast<std::size_t>(
             std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n')) +
         1;
}

std::string line_list(std::string_view text, const std::vector<Match>& matches) {
  std::string list;
  std::size_t line = 1;
  std::size_t at = 0;
  for (std::size_t i = 0; i < matches.size() && i < kShownLines; ++i) {
    line += line_of(text.substr(at), matches[i].at - at) - 1;
    at = matches[i].at;
    list += (i == 0 ? "" : ", ") + std::to_string(line);
  }
  return matches.size() > kShownLines ? list + ", ..." : list;
}

std::string times(std::size_t count) {
  if (count > kMaxPlaces) {
    return "more than " + std::to_string(kMaxPlaces) + " times";
  }
  return count == 1 ? "once" : std::to_string(count) + " times";
}

std::optional<ToolError> check_count(std::string_view text, const TextEdit& edit,
                                     const std::vector<Match>& matches) {
  const std::size_t count = matches.size();
  if (edit.expected_count ? count == *edit.expected_count : edit.replace_all || count == 1) {
    return std::nullopt;
  }
  const std::string where = "old_string occurs " + times(count) + " (line" +
                            (count == 1 ? " " : "s ") + line_list(text, matches) + ")";
  if (edit.expected_count) {
    return ToolError{.code = "AMBIGUOUS",
                     .message = where + ", not " + times(*edit.expected_count),
                     .hint = "Look at these places, then correct expected_count or old_string"};
  }
  return ToolError{.code = "AMBIGUOUS",
                   .message = where,
                   .hint = "Add lines around it until it is unique, or set replace_all"};
}

ToolError too_large() {
  return {.code = "TOO_LARGE",
          .message = "the file would have more than " + std::to_string(kMaxEditedTextBytes) +
                     " bytes afterwards",
          .hint = "Use shell_exec with sed or a script"};
}

ToolError too_many_places() {
  return {.code = "TOO_LARGE",
          .message = "old_string occurs more than " + std::to_string(kMaxPlaces) + " times",
          .hint = "Use shell_exec with sed or a script"};
}

// One edit on TEXT; adds to REPLACEMENTS.
Outcome<std::string> apply_edit(const std::string& text, const TextEdit& edit,
                                std::uint64_t& replacements) {
  if (edit.old_text.empty()) {
    return ToolError{.code = "INVALID_ARGUMENT",
                     .message = "old_string is empty, and the file is not",
                     .hint = "Give the text to replace; write_file replaces a whole file"};
  }
  const bool literal = edit.old_text.find('\r') != std::string::npos ||
                       edit.new_text.find('\r') != std::string::npos;
  std::vector<Match> matches = find_all(text, edit.old_text);
  if (matches.empty() && !literal && edit.old_text.find('\n') != std::string::npos) {
    if (const WithoutReturns plain(text); plain.removed_any()) {
      matches = plain.find(edit.old_text);
    }
  }
  if (matches.empty()) {
    return ToolError{.code = "NOT_FOUND_TEXT",
                     .message = "old_string does not occur in the file",
                     .hint = hint_for_missing(text, edit.old_text)};
  }
  if (auto wrong = check_count(text, edit, matches)) {
    return *std::move(wrong);
  }
  if (matches.size() > kMaxPlaces) {
    return too_many_places();
  }
  const bool has_lines = edit.old_text.find('\n') != std::string::npos ||
                         edit.new_text.find('\n') != std::string::npos;
  Replacement replacement(text, edit);
  std::string out;
  std::size_t at = 0;
  for (const Match& match : matches) {
    out.append(text, at, match.at - at);
    if (literal || !has_lines) {
      out.append(edit.new_text);
    } else {
      replacement.append_to(out, match);
    }
    at = match.at + match.size;
    if (out.size() + text.size() - at > kMaxEditedTextBytes) {
      return too_large();
    }
  }
  out.append(text, at);
  replacements += matches.size();
  return out;
}

}  // namespace

Outcome<EditedText> apply_edits(std::string content, std::span<const TextEdit> edits) {
  EditedText edited{.text = content, .replacements = 0};
  for (std::size_t i = 0; i < edits.size(); ++i) {
    auto next = apply_edit(edited.text, edits[i], edited.replacements);
    if (!next.ok()) {
      ToolError error = std::move(next).error();
      if (edits.size() > 1) {
        error.message = "edit " + std::to_string(i + 1) + " of " + std::to_string(edits.size()) +
                        ": " + error.message + "; nothing was changed";
      }
      return error;
    }
    edited.text = *std::move(next);
  }
  if (edited.text == content) {
    return ToolError{.code = "NO_CHANGE",
                     .message = "the file would be the same afterwards",
                     .hint = "old_string and new_string must differ"};
  }
  return edited;
}

}  // namespace agentbox::mcp
