// edge: glob_files: names in a tree that match a pattern.
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/directory.h"
#include "agentbox/file_text.h"
#include "agentbox/glob.h"
#include "agentbox/limits.h"
#include "agentbox/reply_builder.h"
#include "agentbox/tools/tools.h"

namespace agentbox::mcp {
namespace {

constexpr std::int64_t kDefaultLimit = 100;
constexpr std::int64_t kMaxLimit = 5000;
constexpr std::int64_t kDefaultDepth = 50;
constexpr std::int64_t kMaxDepth = 100;
constexpr std::size_t kMaxPatternBytes = 1024;
constexpr std::size_t kMaxExcludes = 64;
constexpr std::size_t kMaxGlobVisited = 1'000'000;
// Clients wait little longer; what was found by then is returned.
constexpr std::chrono::seconds kMaxTime{30};
// One copy of all names as JSON text.
constexpr std::size_t kMaxNameBytes = kMaxResultBytes / 2 - 64 * kKiB;

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"path":{"type":"string"},
"matches":{"type":"array","items":{"type":"string"},"description":"Paths relative to the root; every path argument takes them as they are."},
"total":{"type":"integer","description":"Matches seen."},
"truncated":{"type":"boolean","description":"There are more than are listed, or not all was looked at."}},
"required":["path","matches","total","truncated"]})";

Outcome<Glob> compile(const std::string& pattern) {
  auto glob = Glob::compile(pattern);
  if (!glob.ok()) {
    return ToolError{.code = "BAD_PATTERN",
                     .message = "the pattern is no glob: " + glob.error().what,
                     .hint =
                         "Use **, *, ?, [..] and {a,b}; a backslash takes the next character "
                         "as it is"};
  }
  return std::move(*glob);
}

// What is looked for, as ListRequest::wanted asks.
class Matcher {
 public:
  static Outcome<Matcher> make(const Arguments& arguments) {
    AB_TRY(pattern, compile(arguments.text("pattern")));
    Matcher matcher(std::move(pattern), arguments.text("type"));
    for (const std::string& exclude : arguments.list("exclude")) {
      AB_TRY(glob, compile(exclude));
      matcher.excludes_.push_back(std::move(glob));
    }
    return matcher;
  }
  [[nodiscard]] bool wants(const Entry& entry) const {
    return has_type(entry) && pattern_.matches(entry.path) &&
           std::none_of(excludes_.begin(), excludes_.end(),
                        [&](const Glob& glob) { return glob.matches(entry.path); });
  }

 private:
  Matcher(Glob pattern, std::string_view type) : pattern_(std::move(pattern)), type_(type) {}
  [[nodiscard]] bool has_type(const Entry& entry) const {
    return type_ == "any" || (type_ == "directory" ? entry.is_folder
                                                   : (entry.info.st_mode & S_IFMT) ==
                                                         (type_ == "symlink" ? S_IFLNK : S_IFREG));
  }

  Glob pattern_;
  std::vector<Glob> excludes_;
  std::string type_;
};

void sort_entries(std::vector<Entry>& entries, std::string_view order) {
  const auto key = [order](const Entry& entry) {
    return order == "size"    ? std::pair<std::int64_t, long>{entry.info.st_size, 0}
           : order == "mtime" ? std::pair<std::int64_t, long>{entry.info.st_mtim.tv_sec,
                                                              entry.info.st_mtim.tv_nsec}
                              : std::pair<std::int64_t, long>{0, 0};
  };
  std::sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
    const auto left = key(a);
    const auto right = key(b);
    return left != right ? left > right : a.path < b.path;
  });
}

ToolResult word(const Opened& folder, const std::string& prefix, const Listing& listing,
                std::size_t limit) {
  std::string names;
  OrderedJson matches = OrderedJson::array();
  std::size_t encoded = 0;
  for (const Entry& entry : listing.entries) {
    const std::string name = quote_name(prefix + entry.path);
    encoded += encoded_size(name) + 3;  // quotes and comma
    if (matches.size() >= limit || encoded > kMaxNameBytes) {
      break;
    }
    names += name + "\n";
    matches.push_back(name);
  }
  ReplyBuilder reply;
  reply.both("path", folder.shown);
  reply.both("total", listing.entries.size());
  reply.quiet_flag("truncated", matches.size() < listing.entries.size() || !listing.all_visited);
  reply.data("matches", std::move(matches));
  return reply.finish("matches", names);
}

Outcome<ToolResult> find(const Arguments& arguments, CallContext& context) {
  const Workspace& workspace = *context.box().workspace;
  AB_TRY(path, workspace.parse(arguments.text("path")));
  context.facts().path = workspace.show(path);
  AB_TRY(matcher, Matcher::make(arguments));
  AB_TRY(folder, workspace.open_folder(path));
  const auto deadline = std::chrono::steady_clock::now() + kMaxTime;
  ListRequest request{.depth = static_cast<std::size_t>(arguments.integer("max_depth")),
                      .include_hidden = arguments.flag("include_hidden"),
                      .respect_ignore = arguments.flag("respect_gitignore"),
                      .max_visited = kMaxGlobVisited};
  if (request.respect_ignore) {
    request.ignore_above = find_ignore_above(workspace, path);
  }
  request.wanted = [&matcher](const Entry& entry) { return matcher.wants(entry); };
  request.cancelled = [&context, deadline] {
    return context.cancelled() || std::chrono::steady_clock::now() >= deadline;
  };
  Listing listing = list_folder(folder.fd, request);
  sort_entries(listing.entries, arguments.text("sort"));
  return word(folder, folder_prefix(workspace, path), listing,
              static_cast<std::size_t>(arguments.integer("limit")));
}

ToolResult glob_files(const Arguments& arguments, CallContext& context) {
  auto result = find(arguments, context);
  return result.ok() ? std::move(*result) : failed(std::move(result).error());
}

}  // namespace

Tool glob_files_tool() {
  Tool tool;
  tool.name = "glob_files";
  tool.title = "Find files by name";
  tool.description =
      "Find files by name with a glob (**, *, ?, [..], {a,b}), newest first. Links are not "
      "followed.";
  tool.arguments = {
      {.name = "pattern",
       .description = "Glob, e.g. src/**/*.cc.",
       .required = true,
       .min_length = 1,
       .max_length = kMaxPatternBytes},
      {.name = "path",
       .description = "Directory to search. Default: root.",
       .fallback = std::string_view("."),
       .min_length = 1,
       .max_length = kMaxPathBytes},
      {.name = "exclude",
       .type = ArgumentType::kStringList,
       .description = "Globs to leave out.",
       .max_items = kMaxExcludes},
      {.name = "type",
       .description = "What kind of entry.",
       .fallback = std::string_view("file"),
       .choices = {"file", "directory", "symlink", "any"}},
      {.name = "include_hidden",
       .type = ArgumentType::kBoolean,
       .description = "Include dotfiles.",
       .fallback = false},
      {.name = "respect_gitignore",
       .type = ArgumentType::kBoolean,
       .description = "Leave out ignored files.",
       .fallback = true},
      {.name = "sort",
       .description = "Order; size and mtime begin with the largest.",
       .fallback = std::string_view("mtime"),
       .choices = {"mtime", "name", "size"}},
      {.name = "limit",
       .type = ArgumentType::kInteger,
       .description = "Most matches to return.",
       .fallback = kDefaultLimit,
       .minimum = 1,
       .maximum = kMaxLimit},
      {.name = "max_depth",
       .type = ArgumentType::kInteger,
       .description = "Levels to descend.",
       .fallback = kDefaultDepth,
       .minimum = 1,
       .maximum = kMaxDepth},
  };
  tool.output_schema = kOutputSchema;
  tool.tier = Tier::kCore;
  tool.hints = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false};
  tool.handler = glob_files;
  return tool;
}

}  // namespace agentbox::mcp
