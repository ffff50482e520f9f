// edge: search_files: lines in a tree of files that match an expression.
#include <algorithm>
#include <cctype>
#include <chrono>
#include <string>
#include <vector>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/directory.h"
#include "agentbox/file_search.h"
#include "agentbox/file_text.h"
#include "agentbox/file_types.h"
#include "agentbox/glob.h"
#include "agentbox/limits.h"
#include "agentbox/reply_builder.h"
#include "agentbox/tools/tools.h"
#include "agentbox/visible.h"
#include "base/pattern.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

constexpr std::size_t kMaxPatternBytes = 4096;
constexpr std::size_t kMaxGlobs = 64;
constexpr std::int64_t kMaxContext = 100;
constexpr std::int64_t kDefaultResults = 250;
constexpr std::int64_t kMaxResults = 10'000;
constexpr std::int64_t kDefaultFileBytes = 16 << 20;
constexpr std::int64_t kMaxFileBytes = 1 << 30;
constexpr std::int64_t kDefaultLineBytes = 400;
constexpr std::int64_t kMinLineBytes = 40;
constexpr std::int64_t kMaxLineBytes = 10'000;
constexpr double kDefaultTimeout = 30;
constexpr double kMaxTimeout = 300;
constexpr std::size_t kMaxVisitedForSearch = 1'000'000;
constexpr std::size_t kMaxFolderDepth = 100;
// One copy of all results.
constexpr std::size_t kMaxReplyBytes = kMaxResultBytes / 2 - 64 * kKiB;

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"output_mode":{"type":"string"},
"matches":{"type":"array","items":{"type":"object","properties":{
"path":{"type":"string"},"line":{"type":"integer"},
"column":{"type":"integer","description":"Byte column, from 1."},"text":{"type":"string"},
"before":{"type":"array","items":{"type":"string"}},"after":{"type":"array","items":{"type":"string"}}},
"required":["path","line","text"]},"description":"output_mode content."},
"files":{"type":"array","items":{"type":"object","properties":{
"path":{"type":"string"},"count":{"type":"integer","description":"Matching lines; output_mode count."}},
"required":["path"]},"description":"Other modes."},
"match_count":{"type":"integer","description":"Matching lines seen, those skipped by offset included."},
"file_count":{"type":"integer","description":"Files with matches seen."},
"files_searched":{"type":"integer"},
"files_skipped":{"type":"integer","description":"Binary, larger than max_filesize, or not readable."},
"truncated":{"type":"boolean","description":"There may be more than is listed."},
"timed_out":{"type":"boolean"},
"next_offset":{"type":"integer","description":"The offset that goes on from here."}},
"required":["output_mode","match_count","file_count","files_searched","truncated"]})";

enum class Mode { kContent, kFiles, kCount };

// Which files are looked into, by their names.
class NameFilter {
 public:
  static Outcome<NameFilter> make(const Arguments& arguments) {
    NameFilter filter;
    filter.type_ = arguments.text("type");
    if (!filter.type_.empty() && !is_file_type(filter.type_)) {
      return ToolError{.code = "UNKNOWN_TYPE",
                       .message = "there is no file type \"" + escape_text(filter.type_, 40) + "\"",
                       .hint = "Use glob, or one of: " + file_type_names()};
    }
    for (const std::string& text : arguments.list("glob")) {
      const bool excludes = text.starts_with('!');
      const std::string pattern = excludes ? text.substr(1) : text;
      auto glob = Glob::compile(pattern.starts_with('/') ? pattern.substr(1) : pattern);
      if (!glob.ok()) {
        return ToolError{.code = "BAD_PATTERN",
                         .message = "a glob is none: " + glob.error().what,
                         .hint = "Use **, *, ?, [..] and {a,b}; a leading ! excludes"};
      }
      filter.rules_.push_back({.glob = std::move(*glob),
                               .excludes = excludes,
                               .whole_path = pattern.find('/') != std::string::npos});
      filter.has_wanted_ = filter.has_wanted_ || !excludes;
    }
    return filter;
  }

  [[nodiscard]] bool wants(std::string_view path) const {
    const std::string_view name = path.substr(path.rfind('/') + 1);
    if (!type_.empty() && !is_of_type(name, type_)) {
      return false;
    }
    bool wanted = !has_wanted_;
    for (const Rule& rule : rules_) {  // the last one that matches decides
      if (rule.glob.matches(rule.whole_path ? path : name)) {
        wanted = !rule.excludes;
      }
    }
    return wanted;
  }

 private:
  struct Rule {
    Glob glob;
    bool excludes = false;
    bool whole_path = false;
  };
  std::string type_;
  std::vector<Rule> rules_;
  bool has_wanted_ = false;
};

std::string escape_literal(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c < 0;
    if (!plain) {
      out.push_back('\\');
    }
    out.push_back(c);
  }
  return out;
}

Outcome<Pattern> compile(const Arguments& arguments) {
  std::string text = arguments.text("pattern");
  const bool literal = arguments.flag("fixed_strings");
  const bool smart = arguments.text("case") == "smart";
  const bool has_capitals = std::any_of(text.begin(), text.end(), [](char c) {
    return std::isupper(static_cast<unsigned char>(c)) != 0;
  });
  PatternOptions options{
      .literal = literal,
      .ignore_case = arguments.text("case") == "insensitive" || (smart && !has_capitals),
      .multi_line = true,
      .dot_newline = arguments.flag("multiline")};
  if (arguments.flag("word")) {
    text = "\\b(?:" + (literal ? escape_literal(text) : text) + ")\\b";
    options.literal = false;
  }
  auto pattern = Pattern::compile(text, options);
  if (!pattern.ok()) {
    return ToolError{.code = "BAD_PATTERN",
                     .message = "the pattern is no RE2 expression: " + pattern.error().what,
                     .hint =
                         "RE2 has no look-around and no back-references: for these use "
                         "shell_exec with grep -P; for plain text set fixed_strings"};
  }
  return std::move(*pattern);
}

struct Scope {
  std::vector<BoxPath> files;
  std::vector<std::string> names;  ///< of files, from the root, as they are shown
  bool complete = true;
};

class SearchCall {
 public:
  SearchCall(const Arguments& arguments, CallContext& context)
      : arguments_(arguments),
        context_(context),
        workspace_(*context.box().workspace),
        deadline_(std::chrono::steady_clock::now() +
                  std::chrono::milliseconds(
                      static_cast<std::int64_t>(arguments.number("timeout_seconds") * 1000))) {
    const std::string& mode = arguments.text("output_mode");
    mode_ = mode == "content" ? Mode::kContent : mode == "count" ? Mode::kCount : Mode::kFiles;
  }

  Outcome<ToolResult> run() {
    AB_TRY(pattern, compile(arguments_));
    AB_TRY(filter, NameFilter::make(arguments_));
    AB_TRY(path, workspace_.parse(arguments_.text("path")));
    context_.facts().path = workspace_.show(path);
    AB_TRY(scope, find_files(path, filter));
    const std::size_t offset = count("offset");
    FileSearchRequest request;
    request.text = {.pattern = &pattern,
                    .multiline = arguments_.flag("multiline"),
                    .before = mode_ == Mode::kContent ? count("before") : 0,
                    .after = mode_ == Mode::kContent ? count("after") : 0,
                    .max_line_bytes = count("max_line_chars"),
                    .count_only = mode_ != Mode::kContent};
    request.max_results = offset + count("max_results") + 1;  // one more tells that there is more
    request.count_files = mode_ != Mode::kContent;
    request.max_per_file = mode_ == Mode::kFiles ? 1 : count("max_per_file");
    request.max_file_bytes = count("max_filesize");
    request.deadline = deadline_;
    request.cancelled = [this] { return context_.cancelled(); };
    const FileSearchResult result = search_files(workspace_, scope.files, request);
    return word(scope, result);
  }

 private:
  [[nodiscard]] std::size_t count(std::string_view name) const {
    return static_cast<std::size_t>(arguments_.integer(name));
  }

  [[nodiscard]] Outcome<Scope> find_files(const BoxPath& path, const NameFilter& filter) const {
    Scope scope;
    auto folder = workspace_.open_folder(path);
    if (!folder.ok() && folder.error().code == "ENOTDIR") {
      AB_TRY(file, workspace_.open_file(path));
      scope.files.push_back(path);
      scope.names.push_back(quote_name(path_from_root(workspace_, path)));
      return scope;
    }
    if (!folder.ok()) {
      return std::move(folder).error();
    }
    ListRequest request{.depth = kMaxFolderDepth,
                        .include_hidden = arguments_.flag("include_hidden"),
                        .want_info = false,
                        .respect_ignore = arguments_.flag("respect_gitignore"),
                        .max_visited = kMaxVisitedForSearch};
    if (request.respect_ignore) {
      request.ignore_above = find_ignore_above(workspace_, path);
    }
    request.wanted = [&filter](const Entry& entry) {
      return !entry.is_folder && filter.wants(entry.path);
    };
    request.cancelled = [this] {
      return context_.cancelled() || std::chrono::steady_clock::now() >= deadline_;
    };
    Listing listing = list_folder(folder->fd, request);
    std::sort(listing.entries.begin(), listing.entries.end(),
              [](const Entry& a, const Entry& b) { return a.path < b.path; });
    scope.complete = listing.all_visited;
    const std::string prefix = folder_prefix(workspace_, path);
    const std::string stem = path.relative == "." ? "" : path.relative + "/";
    for (const Entry& entry : listing.entries) {
      scope.files.push_back({.root = path.root, .relative = stem + entry.path});
      scope.names.push_back(quote_name(prefix + entry.path));
    }
    return scope;
  }

  // Both copies of the results; less than what was found where the reply would grow too long.
  [[nodiscard]] ToolResult word(const Scope& scope, const FileSearchResult& result) {
    for (const SearchedFile& file : result.files) {
      const std::string& name = scope.names[file.index];
      match_count_ += file.matches.size();
      if (mode_ == Mode::kContent) {
        add_matches(name, file.matches);
      } else {
        add_file(name, file.matches.size());
      }
    }
    const std::size_t offset = count("offset");
    const bool truncated = full_ || result.stopped || result.timed_out || !scope.complete;
    ReplyBuilder reply;
    reply.both("output_mode", arguments_.text("output_mode"));
    reply.both("match_count", match_count_);
    reply.both("file_count", result.files.size());
    reply.both("files_searched", result.searched);
    if (const std::size_t skipped = result.binary + result.too_large + result.unreadable;
        skipped > 0) {
      reply.both("files_skipped", skipped);
    }
    reply.quiet_flag("truncated", truncated);
    reply.quiet_flag("timed_out", result.timed_out);
    if (full_) {
      reply.both("next_offset", offset + taken_);
    }
    reply.data(mode_ == Mode::kContent ? "matches" : "files", std::move(list_));
    return reply.finish(mode_ == Mode::kContent ? "matches" : "files", text_);
  }

  // True where the result number SEEN_ is one to return.
  bool takes(std::size_t size) {
    const bool before = seen_++ < count("offset");
    if (before || full_) {
      return false;
    }
    full_ = taken_ >= count("max_results") || (taken_ > 0 && size_ + size > kMaxReplyBytes);
    if (full_) {
      return false;
    }
    ++taken_;
    size_ += size;
    return true;
  }

  void add_file(const std::string& name, std::size_t lines) {
    if (!takes(encoded_size(name) + 32)) {
      return;
    }
    OrderedJson entry{{"path", name}};
    text_ += name;
    if (mode_ == Mode::kCount) {
      entry["count"] = lines;
      text_ += ":" + std::to_string(lines);
    }
    text_ += "\n";
    list_.push_back(std::move(entry));
  }

  void add_matches(const std::string& name, const std::vector<LineMatch>& matches) {
    bool named = false;
    for (const LineMatch& match : matches) {
      OrderedJson entry{{"path", name}, {"line", match.line}, {"column", match.column}};
      entry["text"] = replace_invalid_utf8(match.text);
      std::string text = named ? "" : name + "\n";
      for (const auto& [key, lines] :
           {std::pair{"before", &match.before}, std::pair{"after", &match.after}}) {
        if (!lines->empty()) {
          for (const std::string& line : *lines) {
            entry[key].push_back(replace_invalid_utf8(line));
          }
        }
      }
      std::uint64_t line = match.line - match.before.size();
      const auto add = [&](char mark, const std::string& content) {
        text += std::to_string(line++) + mark + make_visible(content).text + "\n";
      };
      for (const std::string& content : match.before) {
        add('-', content);
      }
      add(':', match.text);
      line += static_cast<std::uint64_t>(std::count(match.text.begin(), match.text.end(), '\n'));
      for (const std::string& content : match.after) {
        add('-', content);
      }
      if (takes(encoded_size(text) + name.size() + 64)) {
        named = true;
        text_ += text;
        list_.push_back(std::move(entry));
      }
    }
  }

  const Arguments& arguments_;
  CallContext& context_;
  const Workspace& workspace_;
  std::chrono::steady_clock::time_point deadline_;
  Mode mode_ = Mode::kContent;
  OrderedJson list_ = OrderedJson::array();
  std::string text_;
  std::uint64_t match_count_ = 0;
  std::size_t seen_ = 0;
  std::size_t taken_ = 0;
  std::size_t size_ = 0;
  bool full_ = false;
};

ToolResult search_files_handler(const Arguments& arguments, CallContext& context) {
  auto result = SearchCall(arguments, context).run();
  return result.ok() ? std::move(result).value() : failed(std::move(result).error());
}

Argument flag(std::string_view name, std::string_view description, bool fallback) {
  return {.name = name,
          .type = ArgumentType::kBoolean,
          .description = description,
          .fallback = fallback};
}

Argument number(std::string_view name, std::string_view description, std::int64_t fallback,
                std::int64_t least, std::int64_t most) {
  return {.name = name,
          .type = ArgumentType::kInteger,
          .description = description,
          .fallback = fallback,
          .minimum = static_cast<double>(least),
          .maximum = static_cast<double>(most)};
}

}  // namespace

Tool search_files_tool() {
  Tool tool;
  tool.name = "search_files";
  tool.title = "Search file contents";
  tool.description =
      "Search file contents for a regular expression or plain text, like ripgrep. RE2 syntax. "
      "Respects .gitignore, skips binary and hidden files. Stops at max_results; offset goes on "
      "from there.";
  tool.arguments = {
      {.name = "pattern",
       .description = "Regular expression, or plain text with fixed_strings.",
       .required = true,
       .min_length = 1,
       .max_length = kMaxPatternBytes},
      {.name = "path",
       .description = "File or directory. Default: root.",
       .fallback = std::string_view("."),
       .min_length = 1,
       .max_length = kMaxPathBytes},
      {.name = "glob",
       .type = ArgumentType::kStringList,
       .description = "Only files matching; a leading ! excludes.",
       .max_items = kMaxGlobs},
      {.name = "type", .description = "File type name, e.g. py, cpp, js, md.", .max_length = 32},
      {.name = "output_mode",
       .description = "content: lines; files_with_matches: paths; count: per file.",
       .fallback = std::string_view("content"),
       .choices = {"content", "files_with_matches", "count"}},
      {.name = "case",
       .description = "smart: insensitive if the pattern is all lower case.",
       .fallback = std::string_view("sensitive"),
       .choices = {"sensitive", "insensitive", "smart"}},
      flag("fixed_strings", "The pattern is plain text.", false),
      flag("word", "Whole words only.", false),
      flag("multiline", "Let . and patterns span lines.", false),
      number("before", "Context lines before.", 0, 0, kMaxContext),
      number("after", "Context lines after.", 0, 0, kMaxContext),
      flag("include_hidden", "Include dotfiles.", false),
      flag("respect_gitignore", "Leave out ignored files.", true),
      number("max_results", "Most matches (or files) to return.", kDefaultResults, 1, kMaxResults),
      number("max_per_file", "Most matching lines of one file; 0: all.", 0, 0, kMaxResults),
      {.name = "offset",
       .type = ArgumentType::kInteger,
       .description = "Skip this many results.",
       .fallback = std::int64_t{0},
       .minimum = 0,
       .maximum = 1e9},
      number("max_filesize", "Skip larger files, in bytes.", kDefaultFileBytes, 1, kMaxFileBytes),
      number("max_line_chars", "Cut longer lines around the match.", kDefaultLineBytes,
             kMinLineBytes, kMaxLineBytes),
      {.name = "timeout_seconds",
       .type = ArgumentType::kNumber,
       .description = "Return what was found by then.",
       .fallback = kDefaultTimeout,
       .minimum = 0.1,
       .maximum = kMaxTimeout},
  };
  tool.output_schema = kOutputSchema;
  tool.tier = Tier::kCore;
  tool.hints = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false};
  tool.handler = search_files_handler;
  tool.may_be_task = true;
  return tool;
}

}  // namespace agentbox::mcp
