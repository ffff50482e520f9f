// pure: see patch.h: finds where hunks go, and puts them there.
#include <algorithm>
#include <string>
#include <utility>

#include "agentbox/edit_hint.h"
#include "agentbox/patch.h"

namespace agentbox::mcp {
namespace {

// Lines compared for one file: a patch of many hunks that fit nowhere must not take for ever.
constexpr std::size_t kMaxComparisons = 50'000'000;
constexpr std::size_t kNowhere = SIZE_MAX;

struct Line {
  std::string_view text = {};  // without its newline
  bool newline = true;
};

std::vector<Line> split(std::string_view content) {
  std::vector<Line> lines;
  while (!content.empty()) {
    const std::size_t end = content.find('\n');
    if (end == std::string_view::npos) {
      lines.push_back({.text = content, .newline = false});
      break;
    }
    lines.push_back({.text = content.substr(0, end), .newline = true});
    content.remove_prefix(end + 1);
  }
  return lines;
}

bool equal(std::string_view there, std::string_view wanted) {
  return there == wanted ||
         (there.size() == wanted.size() + 1 && there.ends_with('\r') && there.starts_with(wanted));
}

class Applier {
 public:
  Applier(std::string_view content, const FilePatch& file, bool unified, std::size_t fuzz)
      : content_(content), lines_(split(content)), file_(file), unified_(unified), fuzz_(fuzz) {}

  Outcome<PatchedText> run() {
    for (index_ = 0; index_ < file_.hunks.size(); ++index_) {
      AB_CHECK(unified_ ? place_unified(file_.hunks[index_]) : place_codex(file_.hunks[index_]));
    }
    copy_until(lines_.size());
    if (last_is_open_) {
      close_last();
    }
    return PatchedText{.text = std::move(out_), .offset_lines = offset_};
  }

 private:
  // The lines of a hunk between those of its context that are left out.
  struct Part {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::vector<HunkLine> old = {};  // that must be there
  };

  static Part part_of(const Hunk& hunk, std::size_t fuzz) {
    Part part{.begin = 0, .end = hunk.lines.size()};
    for (std::size_t i = 0; i < fuzz && part.begin < part.end; ++i) {
      part.begin += hunk.lines[part.begin].kind == ' ' ? 1U : 0U;
      part.end -= part.end > part.begin && hunk.lines[part.end - 1].kind == ' ' ? 1U : 0U;
    }
    for (std::size_t i = part.begin; i < part.end; ++i) {
      if (hunk.lines[i].kind != '+') {
        part.old.push_back(hunk.lines[i]);
      }
    }
    return part;
  }

  bool matches(const Part& part, std::size_t at) {
    if (at < cursor_ || at + part.old.size() > lines_.size()) {
      return false;
    }
    for (std::size_t i = 0; i < part.old.size(); ++i) {
      ++comparisons_;
      const Line& line = lines_[at + i];
      if (!equal(line.text, part.old[i].text) || (part.old[i].no_newline && line.newline)) {
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] ToolError failed(const Hunk& hunk, std::string code, const std::string& why,
                                 std::string hint) const {
    ToolError error{.code = std::move(code),
                    .message = "hunk " + std::to_string(index_ + 1) + " of " +
                               std::to_string(file_.hunks.size()) + " (line " +
                               std::to_string(hunk.line) + " of the patch): " + why,
                    .hint = std::move(hint)};
    error.details["hunk"] = index_ + 1;
    error.details["line"] = hunk.line;
    return error;
  }
  [[nodiscard]] ToolError not_found(const Hunk& hunk) const {
    std::string wanted;
    for (const HunkLine& line : hunk.lines) {
      if (line.kind != '+') {
        wanted.append(line.text).append("\n");
      }
    }
    if (comparisons_ > kMaxComparisons) {
      return failed(hunk, "HUNK_FAILED", "its place is too far from where the patch says",
                    "Make the patch anew from what is there now");
    }
    return failed(hunk, "HUNK_FAILED", "its old lines are not there",
                  hint_for_missing(content_, wanted));
  }
  [[nodiscard]] ToolError ambiguous(const Hunk& hunk, std::size_t a, std::size_t b) const {
    return failed(hunk, "AMBIGUOUS",
                  "its old lines are at line " + std::to_string(a + 1) + " and at line " +
                      std::to_string(b + 1),
                  unified_ ? "Give it more lines of context, or the right line number"
                           : "Give it more lines of context, or an @@ line before");
  }

  Outcome<bool> place_unified(const Hunk& hunk) {
    for (std::size_t fuzz = 0; fuzz <= fuzz_; ++fuzz) {
      const Part part = part_of(hunk, fuzz);
      std::size_t first = hunk.old_start;
      const bool inserts = std::all_of(hunk.lines.begin(), hunk.lines.end(),
                                       [](const HunkLine& line) { return line.kind == '+'; });
      first -= inserts || first == 0 ? 0 : 1;
      const auto shifted =
          static_cast<std::ptrdiff_t>(std::min(first, lines_.size()) + part.begin) + shift_;
      first = shifted > 0 ? static_cast<std::size_t>(shifted) : 0;
      AB_TRY(at, nearest(hunk, part, first));
      if (at == kNowhere) {
        continue;
      }
      const std::size_t distance = at > first ? at - first : first - at;
      shift_ += static_cast<std::ptrdiff_t>(at) - static_cast<std::ptrdiff_t>(first);
      offset_ = std::max(offset_, distance);
      put(hunk, part, at);
      return true;
    }
    return not_found(hunk);
  }

  Outcome<std::size_t> nearest(const Hunk& hunk, const Part& part, std::size_t first) {
    const std::size_t last = lines_.size();
    for (std::size_t away = 0; comparisons_ <= kMaxComparisons; ++away) {
      const bool can_rise = first + away <= last;
      const bool can_sink = away <= first;
      if (!can_rise && !can_sink) {
        break;
      }
      ++comparisons_;
      const bool above = can_rise && matches(part, first + away);
      const bool below = away > 0 && can_sink && matches(part, first - away);
      if (above && below) {
        return ambiguous(hunk, first - away, first + away);
      }
      if (above || below) {
        return above ? first + away : first - away;
      }
    }
    return kNowhere;
  }

  Outcome<bool> place_codex(const Hunk& hunk) {
    for (const std::string_view header : hunk.headers) {
      std::size_t at = cursor_;
      while (at < lines_.size() && trimmed(lines_[at].text) != header) {
        ++at;
        ++comparisons_;
      }
      if (at == lines_.size() || comparisons_ > kMaxComparisons) {
        return failed(hunk, "HUNK_FAILED", "the line of its @@ is not there",
                      "Read the file again, and copy a whole line behind @@");
      }
      copy_until(at + 1);
    }
    const Part part = part_of(hunk, 0);
    if (part.old.empty()) {
      put(hunk, part, hunk.headers.empty() || hunk.at_end ? lines_.size() : cursor_);
      return true;
    }
    if (hunk.at_end) {
      const std::size_t at =
          lines_.size() >= part.old.size() ? lines_.size() - part.old.size() : kNowhere;
      if (at == kNowhere || !matches(part, at)) {
        return not_found(hunk);
      }
      put(hunk, part, at);
      return true;
    }
    const std::size_t first = next_match(part, cursor_);
    if (first == kNowhere) {
      return not_found(hunk);
    }
    if (hunk.headers.empty()) {
      if (const std::size_t second = next_match(part, first + 1); second != kNowhere) {
        return ambiguous(hunk, first, second);
      }
    }
    put(hunk, part, first);
    return true;
  }

  std::size_t next_match(const Part& part, std::size_t at) {
    for (; at + part.old.size() <= lines_.size() && comparisons_ <= kMaxComparisons; ++at) {
      if (matches(part, at)) {
        return at;
      }
    }
    return kNowhere;
  }

  // Whether a new line at AT ends as in a file of CRLF: as the line there does, else the one
  // before.
  [[nodiscard]] bool wants_return(std::size_t at) const {
    if (at < lines_.size() && lines_[at].newline) {
      return lines_[at].text.ends_with('\r');
    }
    return at > 0 && at - 1 < lines_.size() && lines_[at - 1].newline &&
           lines_[at - 1].text.ends_with('\r');
  }

  // A line that had no newline is followed by another.
  void close_last() {
    if (last_is_open_) {
      out_ += open_end_;
      last_is_open_ = false;
    }
  }

  void copy_until(std::size_t end) {
    for (; cursor_ < end; ++cursor_) {
      const Line& line = lines_[cursor_];
      settle();
      out_.append(line.text);
      if (line.newline) {
        out_.push_back('\n');
      } else {
        unended_ = true;
      }
    }
  }

  // Ends a line that is no longer the last.
  void settle() {
    close_last();
    if (unended_) {
      out_ += wants_return(lines_.size() - 1) ? "\r\n" : "\n";
      unended_ = false;
    }
  }

  void put(const Hunk& hunk, const Part& part, std::size_t at) {
    copy_until(at);
    const bool touches_end = at + part.old.size() == lines_.size();
    const bool had_none = touches_end && !lines_.empty() && !lines_.back().newline;
    for (std::size_t i = part.begin; i < part.end; ++i) {
      const HunkLine& line = hunk.lines[i];
      if (line.kind == ' ') {
        copy_until(cursor_ + 1);
      } else if (line.kind == '-') {
        ++cursor_;
      } else {
        settle();
        out_.append(line.text);
        open_end_ = wants_return(cursor_) && !line.text.ends_with('\r') ? "\r\n" : "\n";
        if (!line.no_newline) {
          last_is_open_ = true;
        } else {
          unended_ = true;
        }
      }
    }
    // Codex's format cannot say that a file ends without newline: it stays as it was.
    const bool removed_last = !unified_ && had_none && cursor_ == lines_.size() && last_is_open_;
    if (removed_last) {
      last_is_open_ = false;
      unended_ = true;
    }
  }

  std::string_view content_;
  std::vector<Line> lines_;
  const FilePatch& file_;
  bool unified_;
  std::size_t fuzz_;
  std::size_t index_ = 0;
  std::size_t cursor_ = 0;    // the first line not yet taken over
  std::ptrdiff_t shift_ = 0;  // of the hunks so far from where the patch said
  std::size_t offset_ = 0;
  std::size_t comparisons_ = 0;
  std::string out_;
  bool last_is_open_ = false;  // the newline of the last line in out_ is yet to come
  std::string open_end_;
  bool unended_ = false;  // the last line in out_ has no newline, and gets one if another follows
};

}  // namespace

Outcome<PatchedText> apply_hunks(std::string_view content, const FilePatch& file, bool unified,
                                 std::size_t fuzz) {
  return Applier(content, file, unified, fuzz).run();
}

}  // namespace agentbox::mcp
