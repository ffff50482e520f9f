// pure: see patch.h.
#include "agentbox/patch.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "agentbox/box_path.h"
#include "base/text.h"

namespace agentbox::mcp {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlank);
  return first == std::string_view::npos
             ? std::string_view()
             : text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

namespace {

constexpr std::size_t kMaxShownBytes = 120;
constexpr std::string_view kNoFile = "/dev/null";

ToolError parse_error(std::size_t line, const std::string& what, std::string hint) {
  ToolError error{.code = "PATCH_PARSE",
                  .message = "line " + std::to_string(line) + " of the patch: " + what,
                  .hint = std::move(hint)};
  error.details["line"] = line;
  return error;
}

std::string shown(std::string_view line) { return "\"" + escape_text(line, kMaxShownBytes) + "\""; }

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) {
    return false;
  }
  text.remove_prefix(prefix.size());
  return true;
}

std::string_view without_return(std::string_view text) {
  return text.ends_with('\r') ? text.substr(0, text.size() - 1) : text;
}

// The lines of a patch, one after another.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text), has_(!text.empty()) { cut(); }

  [[nodiscard]] bool at_end() const { return !has_; }
  /// Without its newline.
  [[nodiscard]] std::string_view line() const { return line_; }
  [[nodiscard]] std::size_t number() const { return number_; }
  void next() {
    has_ = !rest_.empty();
    cut();
  }

 private:
  void cut() {
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++number_;
  }

  std::string_view rest_;
  std::string_view line_;
  std::size_t number_ = 0;
  bool has_;
};

class CodexParser {
 public:
  explicit CodexParser(std::string_view text) : lines_(text) {}

  Outcome<Patch> run() {
    while (!lines_.at_end() && trimmed(lines_.line()).empty()) {
      lines_.next();
    }
    if (lines_.at_end() || trimmed(lines_.line()) != "*** Begin Patch") {
      return parse_error(lines_.number(), "*** Begin Patch is missing", "Begin the patch with it");
    }
    lines_.next();
    Patch patch;
    for (;;) {
      if (lines_.at_end()) {
        return parse_error(lines_.number(), "*** End Patch is missing", "End the patch with it");
      }
      if (trimmed(lines_.line()) == "*** End Patch") {
        break;
      }
      AB_TRY(file, read_file());
      patch.files.push_back(std::move(file));
    }
    for (lines_.next(); !lines_.at_end(); lines_.next()) {
      if (!trimmed(lines_.line()).empty()) {
        return parse_error(lines_.number(), "there is text after *** End Patch", "Leave it out");
      }
    }
    return patch;
  }

 private:
  Outcome<FilePatch> read_file() {
    std::string_view line = without_return(lines_.line());
    const std::size_t number = lines_.number();
    FilePatch file;
    if (take_prefix(line, "*** Add File: ")) {
      file.action = PatchAction::kAdd;
    } else if (take_prefix(line, "*** Delete File: ")) {
      file.action = PatchAction::kDelete;
    } else if (!take_prefix(line, "*** Update File: ")) {
      return parse_error(
          number, shown(line) + " is no header of a file",
          "Write *** Add File: PATH, *** Update File: PATH or *** Delete File: PATH");
    }
    file.path = trimmed(line);
    lines_.next();
    if (file.path.empty()) {
      return parse_error(number, "the path is missing", "Name the file");
    }
    if (file.action == PatchAction::kAdd) {
      read_added(file);
    } else if (file.action == PatchAction::kUpdate) {
      std::string_view move = lines_.at_end() ? std::string_view() : without_return(lines_.line());
      if (take_prefix(move, "*** Move to: ")) {
        file.destination = trimmed(move);
        lines_.next();
      }
      AB_CHECK(read_hunks(file));
      if (file.hunks.empty() && file.destination.empty()) {
        return parse_error(number, "nothing is updated",
                           "Give lines that begin with -, + or space");
      }
    }
    return file;
  }

  void read_added(FilePatch& file) {
    Hunk hunk{.line = lines_.number()};
    for (; !lines_.at_end() && lines_.line().starts_with('+'); lines_.next()) {
      hunk.lines.push_back({.kind = '+', .text = lines_.line().substr(1)});
    }
    if (!hunk.lines.empty()) {
      file.hunks.push_back(std::move(hunk));
    }
  }

  [[nodiscard]] bool is_section() const {
    return lines_.line().starts_with("*** ") && trimmed(lines_.line()) != "*** End of File";
  }

  Outcome<bool> read_hunks(FilePatch& file) {
    while (!lines_.at_end() && !is_section()) {
      Hunk hunk{.line = lines_.number()};
      while (!lines_.at_end() && lines_.line().starts_with("@@")) {
        if (const std::string_view header = trimmed(lines_.line().substr(2)); !header.empty()) {
          hunk.headers.push_back(header);
        }
        lines_.next();
      }
      AB_CHECK(read_lines(hunk));
      file.hunks.push_back(std::move(hunk));
    }
    return true;
  }

  Outcome<bool> read_lines(Hunk& hunk) {
    for (; !lines_.at_end() && !is_section() && !lines_.line().starts_with("@@"); lines_.next()) {
      const std::string_view line = lines_.line();
      if (trimmed(line) == "*** End of File") {
        hunk.at_end = true;
        lines_.next();
        break;
      }
      if (line.empty()) {
        hunk.lines.push_back({});  // an empty line whose space an editor took away
      } else if (line[0] == ' ' || line[0] == '-' || line[0] == '+') {
        hunk.lines.push_back({.kind = line[0], .text = line.substr(1)});
      } else {
        return parse_error(lines_.number(), shown(line) + " begins with none of -, + and space",
                           "Begin lines that stay with a space");
      }
    }
    if (hunk.lines.empty()) {
      return parse_error(hunk.line, "the hunk is empty", "Give it lines");
    }
    return true;
  }

  Lines lines_;
};

class UnifiedParser {
 public:
  UnifiedParser(std::string_view text, int strip) : lines_(text), strip_(strip) {}

  Outcome<Patch> run() {
    Patch patch{.unified = true};
    while (!lines_.at_end()) {
      if (!lines_.line().starts_with("diff --git ") && !at_names()) {
        if (lines_.line().starts_with("@@ -")) {
          return parse_error(lines_.number(), "a hunk without --- and +++ before it",
                             "Name the file first");
        }
        lines_.next();  // words of a mail or of git
        continue;
      }
      AB_TRY(file, read_file());
      patch.files.push_back(std::move(file));
    }
    if (patch.files.empty()) {
      return parse_error(1, "there is no --- and +++ pair in it",
                         "Give a unified diff, or a patch with *** Begin Patch");
    }
    return patch;
  }

 private:
  [[nodiscard]] bool at_names() const { return lines_.line().starts_with("--- "); }

  struct Names {
    std::string before;
    std::string after;
    bool prefixed = true;  // as in ---, not as in rename from
  };

  Outcome<FilePatch> read_file() {
    FilePatch file;
    Names names;
    const std::size_t number = lines_.number();
    if (lines_.line().starts_with("diff --git ")) {
      AB_CHECK(read_git_header(file, names));
    }
    if (!lines_.at_end() && at_names()) {
      AB_TRY(before, name_of(lines_.line().substr(4)));
      lines_.next();
      if (lines_.at_end() || !lines_.line().starts_with("+++ ")) {
        return parse_error(lines_.number(), "+++ is missing after ---", "Name the new file");
      }
      AB_TRY(after, name_of(lines_.line().substr(4)));
      lines_.next();
      names.before = std::move(before);
      names.after = std::move(after);
      names.prefixed = true;
      AB_CHECK(read_hunks(file));
    }
    AB_CHECK(take_names(file, names, number));
    if (file.action == PatchAction::kUpdate && file.hunks.empty() && file.destination.empty() &&
        !file.mode) {
      return parse_error(number, "nothing is changed in " + shown(file.path),
                         "Leave the file out, or give it hunks");
    }
    return file;
  }

  // "diff --git a/x b/x" itself names files ambiguously; what follows does not, but for a file that
  // is empty.
  Outcome<bool> read_git_header(FilePatch& file, Names& names) {
    std::string_view both = without_return(lines_.line()).substr(11);
    if (both.size() % 2 == 1 && both[both.size() / 2] == ' ') {
      names.before = both.substr(0, both.size() / 2);
      names.after = both.substr(both.size() / 2 + 1);
    }
    for (lines_.next(); !lines_.at_end() && !at_names(); lines_.next()) {
      std::string_view line = without_return(lines_.line());
      if (line.starts_with("diff --git ") || line.starts_with("@@ -")) {
        break;
      }
      if (take_prefix(line, "rename from ")) {
        AB_TRY(name, name_of(line));
        names.before = std::move(name);
        names.prefixed = false;
      } else if (take_prefix(line, "rename to ")) {
        AB_TRY(name, name_of(line));
        names.after = std::move(name);
        names.prefixed = false;
      } else if (take_prefix(line, "new file mode ")) {
        file.action = PatchAction::kAdd;
        AB_CHECK(read_mode(line, file));
      } else if (take_prefix(line, "new mode ")) {
        AB_CHECK(read_mode(line, file));
      } else if (line.starts_with("deleted file mode ")) {
        file.action = PatchAction::kDelete;
      } else if (line.starts_with("GIT binary patch") || line.starts_with("Binary files ") ||
                 line.starts_with("copy from ")) {
        return parse_error(lines_.number(), "binary patches and copies are not taken",
                           "Use write_file or copy_file for them");
      } else if (!line.starts_with("index ") && !line.starts_with("old mode ") &&
                 !line.starts_with("similarity ") && !line.starts_with("dissimilarity ")) {
        break;  // words between two files
      }
    }
    return true;
  }

  Outcome<bool> read_mode(std::string_view text, FilePatch& file) const {
    if (text != "100644" && text != "100755") {
      return parse_error(lines_.number(), "mode " + shown(text) + " is not that of a regular file",
                         "Use shell_exec for links and the like");
    }
    file.mode = text == "100755" ? 0755U : 0644U;
    return true;
  }

  // A name up to a tab and a time, or in quotes.
  Outcome<std::string> name_of(std::string_view text) const {
    text = without_return(text);
    if (text.starts_with('"')) {
      auto name = unquote_name(text.substr(0, text.rfind('"') + 1));
      if (!name.ok()) {
        return parse_error(lines_.number(), shown(text) + " is no quoted name",
                           "Quote names as git does");
      }
      return std::move(name).value();
    }
    return std::string(text.substr(0, text.find('\t')));
  }

  [[nodiscard]] static std::string stripped(const std::string& name, int count) {
    std::size_t at = 0;
    for (; count > 0; --count) {
      const std::size_t slash = name.find('/', at);
      if (slash == std::string::npos) {
        return {};
      }
      at = slash + 1;
    }
    return name.substr(at);
  }

  Outcome<bool> take_names(FilePatch& file, const Names& names, std::size_t number) const {
    const bool adds = names.before == kNoFile;
    const bool deletes = names.after == kNoFile;
    const bool git_like =
        (adds || names.before.starts_with("a/")) && (deletes || names.after.starts_with("b/"));
    const int count = !names.prefixed ? 0 : strip_ >= 0 ? strip_ : git_like ? 1 : 0;
    const std::string before = adds ? std::string() : stripped(names.before, count);
    const std::string after = deletes ? std::string() : stripped(names.after, count);
    if (adds || file.action == PatchAction::kAdd) {
      file.action = PatchAction::kAdd;
      file.path = after;
    } else if (deletes || file.action == PatchAction::kDelete) {
      file.action = PatchAction::kDelete;
      file.path = before;
    } else {
      file.path = before;
      // diff -u names the old file as it likes (x.orig): only git's names tell of a move.
      if (before != after && (!names.prefixed || git_like)) {
        file.destination = after;
      } else if (before != after) {
        file.path = after;
      }
    }
    if (file.path.empty()) {
      return parse_error(number, "the name of a file is missing, or shorter than strip",
                         "Check the names and strip");
    }
    return true;
  }

  Outcome<bool> read_hunks(FilePatch& file) {
    while (!lines_.at_end() && lines_.line().starts_with("@@ -")) {
      AB_TRY(hunk, read_hunk());
      file.hunks.push_back(std::move(hunk));
    }
    return true;
  }

  // "12,3" or "12", where 3 or 1 is the count.
  static bool read_range(std::string_view& text, std::size_t& start, std::size_t& count) {
    const char* const end = text.data() + text.size();
    auto [stop, problem] = std::from_chars(text.data(), end, start);
    count = 1;
    if (problem == std::errc() && stop != end && *stop == ',') {
      const auto more = std::from_chars(stop + 1, end, count);
      stop = more.ptr;
      problem = more.ec;
    }
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
    return problem == std::errc();
  }

  Outcome<Hunk> read_hunk() {
    Hunk hunk{.line = lines_.number()};
    std::string_view head = lines_.line().substr(4);
    std::size_t old_count = 0;
    std::size_t new_start = 0;
    std::size_t new_count = 0;
    const bool good = read_range(head, hunk.old_start, old_count) && take_prefix(head, " +") &&
                      read_range(head, new_start, new_count) && take_prefix(head, " @@");
    if (!good) {
      return parse_error(hunk.line, shown(lines_.line()) + " is no head of a hunk",
                         "Write @@ -LINE,COUNT +LINE,COUNT @@");
    }
    lines_.next();
    while (old_count > 0 || new_count > 0) {
      if (lines_.at_end()) {
        return parse_error(hunk.line, "the hunk is shorter than its head says",
                           "Correct the counts in its @@ line");
      }
      const std::string_view line = lines_.line();
      const char kind = trimmed(line).empty() && !line.starts_with(' ') ? ' ' : line[0];
      const bool in_old = kind == ' ' || kind == '-';
      const bool in_new = kind == ' ' || kind == '+';
      if ((!in_old && !in_new) || (in_old && old_count == 0) || (in_new && new_count == 0)) {
        return parse_error(
            lines_.number(),
            shown(line) + " does not fit into the hunk of line " + std::to_string(hunk.line),
            "Correct the counts in its @@ line");
      }
      hunk.lines.push_back({.kind = kind, .text = line.starts_with(kind) ? line.substr(1) : line});
      old_count -= in_old ? 1 : 0;
      new_count -= in_new ? 1 : 0;
      lines_.next();
      if (!lines_.at_end() && lines_.line().starts_with("\\ ")) {
        hunk.lines.back().no_newline = true;
        lines_.next();
      }
    }
    return hunk;
  }

  Lines lines_;
  int strip_;
};

}  // namespace

Outcome<Patch> parse_patch(std::string_view text, PatchFormat format, int strip) {
  const bool codex = format == PatchFormat::kCodex ||
                     (format == PatchFormat::kAuto &&
                      trimmed(text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size())))
                          .starts_with("*** Begin Patch"));
  return codex ? CodexParser(text).run() : UnifiedParser(text, strip).run();
}

}  // namespace agentbox::mcp
