// edge: list_directory: what is in a folder, page by page.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/directory.h"
#include "agentbox/file_kind.h"
#include "agentbox/timestamps.h"
#include "agentbox/tools/tools.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

constexpr std::int64_t kDefaultLimit = 1000;
constexpr std::int64_t kMaxLimit = 10'000;
constexpr std::int64_t kMaxDepth = 20;
// Names and targets of one page: both copies, quoted at worst fourfold, stay below the reply's
// limit.
constexpr std::size_t kMaxPageNameBytes = 600'000;
// Around each name of a page, in both copies together.
constexpr std::size_t kEntryOverheadBytes = 30;

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"path":{"type":"string"},
"entry_count":{"type":"integer","description":"Entries in this answer."},
"total":{"type":"integer","description":"Entries in all, when known."},
"entries":{"type":"array","items":{"type":"object","properties":{
"type":{"type":"string","enum":["file","directory","symlink","fifo","socket","block","char","unknown"]},
"name":{"type":"string","description":"Path relative to the listed directory."},
"size":{"type":"integer"},"mtime":{"type":"string"},"mode":{"type":"string"},
"target":{"type":"string","description":"Symlink target."},
"name_encoding":{"type":"string","description":"base64 when the name is not UTF-8.","enum":["utf-8","base64"]},
"quoted_name":{"type":"string","description":"For names that are not UTF-8: a spelling every path argument takes."}},
"required":["type","name","size","mtime","mode"]}},
"truncated":{"type":"boolean"},"next_cursor":{"type":"string"},
"unreadable":{"type":"integer","description":"Folders that could not be opened."}},
"required":["path","entry_count","entries","truncated"]})";

enum class Sort { kName, kSize, kModified };

// Where an entry stands in the order asked for. Sizes and times go from large to small.
struct Key {
  std::int64_t number = 0;
  std::string_view path;  // borrowed
};

bool path_before(std::string_view a, std::string_view b) {
  // A folder's content comes right after it: '/' sorts before every other byte.
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    const auto rank = [](char c) { return c == '/' ? 0U : static_cast<unsigned char>(c); };
    return rank(x) < rank(y);
  });
}

bool before(const Key& a, const Key& b) {
  return a.number != b.number ? a.number > b.number : path_before(a.path, b.path);
}

Key key_of(const Entry& entry, Sort sort) {
  Key key{.number = 0, .path = entry.path};
  if (sort == Sort::kSize) {
    key.number = entry.info.st_size;
  } else if (sort == Sort::kModified) {
    key.number = entry.info.st_mtim.tv_sec * 1'000'000'000 + entry.info.st_mtim.tv_nsec;
  }
  return key;
}

Sort sort_named(std::string_view name) {
  return name == "size" ? Sort::kSize : name == "mtime" ? Sort::kModified : Sort::kName;
}

// The cursor holds the key of the last entry shown, so paging survives changes in between.
std::string make_cursor(const Key& last, Sort sort) {
  OrderedJson json =
      OrderedJson::array({static_cast<int>(sort), last.number, base64_encode(last.path)});
  return base64_encode(dump_json(json));
}

struct Cursor {
  std::int64_t number = 0;
  std::string path;
};

Outcome<Cursor> read_cursor(std::string_view cursor, Sort sort) {
  const ToolError bad{.code = "BAD_CURSOR",
                      .message = "cursor is none that this tool gave for this order",
                      .hint = "Leave cursor out to start again",
                      .path = {},
                      .details = {},
                      .verbatim = {}};
  const auto text = base64_decode(cursor);
  const auto json = text.ok() ? parse_json(*text) : Result<Json>(Error{Code::kInvalid, ""});
  if (!json.ok() || !json->is_array() || json->size() != 3 || !(*json)[0].is_number_integer() ||
      !(*json)[1].is_number_integer() || !(*json)[2].is_string() ||
      (*json)[0] != static_cast<int>(sort)) {
    return bad;
  }
  const auto path = base64_decode((*json)[2].get_ref<const std::string&>());
  if (!path.ok()) {
    return bad;
  }
  return Cursor{.number = (*json)[1].get<std::int64_t>(), .path = *path};
}

// One page's two copies.
struct Page {
  OrderedJson entries = OrderedJson::array();
  std::string lines;
  std::size_t name_bytes = 0;

  [[nodiscard]] bool has_room(std::ptrdiff_t limit) const {
    return entries.size() < static_cast<std::size_t>(limit) && name_bytes < kMaxPageNameBytes;
  }
  void add(const Entry& entry, const std::string& target) {
    const auto [type, letter] = kind_of_file(entry.info.st_mode);
    OrderedJson json;
    json["type"] = type;
    if (is_utf8(entry.path)) {
      json["name"] = entry.path;
    } else {
      json["name"] = base64_encode(entry.path);
      json["name_encoding"] = "base64";
      json["quoted_name"] = quote_name(entry.path);
    }
    json["size"] = entry.info.st_size;
    json["mtime"] = timestamp(entry.info.st_mtim);
    json["mode"] = octal_mode(entry.info.st_mode);
    lines.push_back(letter);
    lines += "\t" + std::to_string(entry.info.st_size) + "\t" +
             timestamp_seconds(entry.info.st_mtim.tv_sec) + "\t" + quote_name(entry.path);
    if (!target.empty()) {
      json["target"] = is_utf8(target) ? target : quote_name(target);
      lines += "\t-> " + quote_name(target);
    }
    lines.push_back('\n');
    name_bytes += entry.path.size() + target.size() + kEntryOverheadBytes;
    entries.push_back(std::move(json));
  }
};

class DirectoryReply {
 public:
  DirectoryReply(const Arguments& arguments, const Opened& folder)
      : arguments_(arguments), folder_(folder), sort_(sort_named(arguments.text("sort"))) {}

  Outcome<ToolResult> make(Listing listing) {
    std::vector<Entry>& entries = listing.entries;
    const auto in_order = [this](const Entry& a, const Entry& b) {
      return before(key_of(a, sort_), key_of(b, sort_));
    };
    auto at = entries.begin();
    if (arguments_.has("cursor")) {
      AB_TRY(cursor, read_cursor(arguments_.text("cursor"), sort_));
      const Key last{.number = cursor.number, .path = cursor.path};
      at = std::partition(entries.begin(), entries.end(),
                          [&](const Entry& entry) { return !before(last, key_of(entry, sort_)); });
    }
    Page page;
    const auto limit = static_cast<std::ptrdiff_t>(arguments_.integer("limit"));
    const Entry* last = nullptr;
    // Put in order no further than the page reaches: the rest comes with the pages to come.
    for (auto sorted = at; at != entries.end() && page.has_room(limit); ++at) {
      if (at == sorted) {
        sorted += std::min(limit, entries.end() - at);
        std::nth_element(at, sorted - 1, entries.end(), in_order);
        std::sort(at, sorted, in_order);
      }
      last = &*at;
      if (!at->known && !fill_info(folder_.fd, *at)) {
        continue;  // gone meanwhile
      }
      page.add(*at, S_ISLNK(at->info.st_mode) ? link_target(folder_.fd, at->path) : "");
    }
    const std::string cursor =
        at != entries.end() && last != nullptr ? make_cursor(key_of(*last, sort_), sort_) : "";
    return word(std::move(page), listing, cursor);
  }

 private:
  ToolResult word(Page page, const Listing& listing, const std::string& cursor) const {
    const std::size_t count = page.entries.size();
    const bool truncated = !cursor.empty() || listing.incomplete;
    OrderedJson json;
    std::string text = "path: " + folder_.shown + "\nentry_count: " + std::to_string(count) + "\n";
    json["path"] = folder_.shown;
    json["entry_count"] = count;
    if (!listing.incomplete) {
      json["total"] = listing.entries.size();
      text += count == listing.entries.size()
                  ? ""
                  : "total: " + std::to_string(listing.entries.size()) + "\n";
    }
    json["entries"] = std::move(page.entries);
    json["truncated"] = truncated;
    text += truncated ? "truncated: true\n" : "";
    if (!cursor.empty()) {
      json["next_cursor"] = cursor;
      text += "next_cursor: " + cursor + "\n";
    }
    if (listing.unreadable > 0) {
      json["unreadable"] = listing.unreadable;
      text += "unreadable: " + std::to_string(listing.unreadable) + "\n";
    }
    if (!listing.all_visited) {
      text += "note: only the first " + std::to_string(kMaxVisited) +
              " entries met were looked at; list a folder further down\n";
    }
    text += "--- entries ---\n" + page.lines;
    return {.texts = {std::move(text)}, .structured = std::move(json), .error = {}};
  }

  const Arguments& arguments_;
  const Opened& folder_;
  Sort sort_;
};

ToolResult list_directory(const Arguments& arguments, CallContext& context) {
  const Workspace& workspace = *context.box().workspace;
  auto path = workspace.parse(arguments.text("path"));
  if (!path.ok()) {
    return failed(std::move(path).error());
  }
  auto folder = workspace.open_folder(*path);
  if (!folder.ok()) {
    return failed(std::move(folder).error());
  }
  context.facts().path = folder->shown;
  ListRequest request{.depth = static_cast<std::size_t>(arguments.integer("depth")),
                      .include_hidden = arguments.flag("include_hidden"),
                      .want_info = sort_named(arguments.text("sort")) != Sort::kName,
                      .cancelled = [&context] { return context.cancelled(); }};
  if (request.depth > 1 && arguments.flag("respect_gitignore")) {
    request.respect_ignore = true;
    request.ignore_above = find_ignore_above(workspace, *path);
  }
  auto result = DirectoryReply(arguments, *folder).make(list_folder(folder->fd, request));
  return result.ok() ? std::move(*result) : failed(std::move(result).error());
}

}  // namespace

Tool list_directory_tool() {
  Tool tool;
  tool.name = "list_directory";
  tool.title = "List a directory";
  tool.description =
      "List a folder: type, size, mtime and name of each entry; with depth, of the tree. Links "
      "are shown, not followed. Names with control characters or bytes that are no UTF-8 come in "
      "double quotes with C escapes, and every path argument takes that spelling.";
  tool.arguments = {
      {.name = "path",
       .description = "Directory. Default: workspace root.",
       .fallback = std::string_view("."),
       .min_length = 1,
       .max_length = kMaxPathBytes},
      {.name = "include_hidden",
       .type = ArgumentType::kBoolean,
       .description = "Include dotfiles.",
       .fallback = false},
      {.name = "depth",
       .type = ArgumentType::kInteger,
       .description = "Levels to descend.",
       .fallback = std::int64_t{1},
       .minimum = 1,
       .maximum = kMaxDepth},
      {.name = "respect_gitignore",
       .type = ArgumentType::kBoolean,
       .description = "Leave out ignored files when depth > 1.",
       .fallback = true},
      {.name = "sort",
       .description = "Order; size and mtime begin with the largest.",
       .fallback = std::string_view("name"),
       .choices = {"name", "size", "mtime"}},
      {.name = "limit",
       .type = ArgumentType::kInteger,
       .description = "Most entries to return.",
       .fallback = kDefaultLimit,
       .minimum = 1,
       .maximum = kMaxLimit},
      {.name = "cursor", .description = "From a previous next_cursor.", .max_length = 8192},
  };
  tool.output_schema = kOutputSchema;
  tool.tier = Tier::kCore;
  tool.hints = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false};
  tool.handler = list_directory;
  return tool;
}

}  // namespace agentbox::mcp
