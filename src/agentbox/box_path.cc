// pure: see box_path.h.
#include "agentbox/box_path.h"

#include <algorithm>

#include "agentbox/visible.h"

namespace agentbox::mcp {
namespace {

constexpr std::size_t kOctalDigits = 3;

bool is_octal(char c) { return c >= '0' && c <= '7'; }

// The letter after a backslash and what it stands for, in this order.
constexpr std::string_view kEscapeLetters = "\"\\tnr";
constexpr std::string_view kEscapedBytes = "\"\\\t\n\r";

void append_octal(std::string& to, char byte) {
  const auto value = static_cast<unsigned char>(byte);
  to.push_back('\\');
  to.push_back(static_cast<char>('0' + (value >> 6)));
  to.push_back(static_cast<char>('0' + ((value >> 3) & 7)));
  to.push_back(static_cast<char>('0' + (value & 7)));
}

bool needs_quotes(std::string_view name) {
  if (name.starts_with('"')) {
    return true;
  }
  while (!name.empty()) {
    const Character c = first_character(name);
    if (!c.valid || is_disturbing(c.value) || c.value < 0x20) {
      return true;
    }
    name.remove_prefix(c.bytes);
  }
  return false;
}

ToolError bad_quotes(std::string_view why) {
  return {.code = "INVALID_ARGUMENT",
          .message = "path starts with a double quote but is no quoted name: " + std::string(why),
          .hint =
              "Quote it as listings do (\\\" \\\\ \\t \\n \\r \\ooo), or put ./ in front of a name "
              "that "
              "really starts with a quote"};
}

// "a//b/./c" as "a/b/c"; ".." stays, since what it means depends on links.
std::string tidy(std::string_view relative) {
  std::string result;
  while (!relative.empty()) {
    const std::size_t end = std::min(relative.find('/'), relative.size());
    const std::string_view name = relative.substr(0, end);
    relative.remove_prefix(std::min(end + 1, relative.size()));
    if (name.empty() || name == ".") {
      continue;
    }
    if (!result.empty()) {
      result.push_back('/');
    }
    result.append(name);
  }
  return result;
}

Argument path_argument(const char* name, const char* description) {
  return {.name = name,
          .description = description,
          .required = true,
          .min_length = 1,
          .max_length = kMaxPathBytes};
}

}  // namespace

bool is_temporary_name(std::string_view name) { return name.starts_with(kTemporaryPrefix); }

std::string quote_name(std::string_view name) {
  if (!needs_quotes(name)) {
    return std::string(name);
  }
  std::string quoted = "\"";
  while (!name.empty()) {
    const Character c = first_character(name);
    const std::size_t letter = c.bytes == 1 ? kEscapedBytes.find(name[0]) : std::string_view::npos;
    if (letter != std::string_view::npos) {
      quoted.append({'\\', kEscapeLetters[letter]});
    } else if (!c.valid || is_disturbing(c.value)) {
      for (std::size_t i = 0; i < c.bytes; ++i) {
        append_octal(quoted, name[i]);
      }
    } else {
      quoted.append(name.substr(0, c.bytes));
    }
    name.remove_prefix(c.bytes);
  }
  quoted.push_back('"');
  return quoted;
}

Outcome<std::string> unquote_name(std::string_view quoted) {
  if (quoted.size() < 2 || quoted.front() != '"' || quoted.back() != '"') {
    return bad_quotes("the closing quote is missing");
  }
  std::string_view rest = quoted.substr(1, quoted.size() - 2);
  std::string name;
  while (!rest.empty()) {
    if (rest[0] == '"') {
      return bad_quotes("there is a quote in the middle");
    }
    if (rest[0] != '\\') {
      name.push_back(rest[0]);
      rest.remove_prefix(1);
      continue;
    }
    const std::size_t letter =
        rest.size() > 1 ? kEscapeLetters.find(rest[1]) : std::string_view::npos;
    if (letter != std::string_view::npos) {
      name.push_back(kEscapedBytes[letter]);
      rest.remove_prefix(2);
      continue;
    }
    if (rest.size() <= kOctalDigits || rest[1] > '3' ||
        !std::all_of(rest.begin() + 1, rest.begin() + 1 + kOctalDigits, is_octal)) {
      return bad_quotes("a backslash is followed by something unknown");
    }
    name.push_back(static_cast<char>((rest[1] - '0') * 64 + (rest[2] - '0') * 8 + (rest[3] - '0')));
    rest.remove_prefix(1 + kOctalDigits);
  }
  return name;
}

std::string below_root(std::string_view path, std::span<const std::string> roots) {
  for (const std::string& root : roots) {
    std::string_view stem = root;
    while (stem.ends_with('/')) {
      stem.remove_suffix(1);
    }
    if (!path.starts_with(stem) || (path.size() > stem.size() && path[stem.size()] != '/')) {
      continue;
    }
    std::string_view rest = path.substr(stem.size());
    const std::size_t first = rest.find_first_not_of('/');
    rest.remove_prefix(std::min(first, rest.size()));
    return rest.empty() ? "." : std::string(rest);
  }
  return {};
}

Outcome<BoxPath> parse_box_path(std::string_view given, const RootNames& names) {
  std::string unquoted;
  if (given.starts_with('"')) {
    AB_TRY(bytes, unquote_name(given));
    unquoted = std::move(bytes);
    given = unquoted;
  }
  if (given.empty()) {
    return ToolError{.code = "INVALID_ARGUMENT",
                     .message = "the path is empty",
                     .hint = "Use \".\" for the workspace itself"};
  }
  if (given.size() > kMaxPathBytes) {
    return ToolError{.code = "ENAMETOOLONG",
                     .message = "the path has " + std::to_string(given.size()) +
                                " bytes; the limit is " + std::to_string(kMaxPathBytes)};
  }
  if (given.find('\0') != std::string_view::npos) {
    return ToolError{.code = "INVALID_ARGUMENT", .message = "the path holds a NUL byte"};
  }
  if (given.front() != '/') {
    return BoxPath{.root = Root::kWorkspace, .relative = std::string(given)};
  }
  if (std::string relative = below_root(given, names.output); !relative.empty()) {
    return BoxPath{.root = Root::kOutput, .relative = std::move(relative)};
  }
  if (std::string relative = below_root(given, names.workspace); !relative.empty()) {
    return BoxPath{.root = Root::kWorkspace, .relative = std::move(relative)};
  }
  return ToolError{
      .code = "ESCAPE",
      .message = quote_name(given) + " is outside the workspace " + names.workspace.front(),
      .hint =
          "Use a path relative to the workspace, or absolute inside it; shell_exec reaches other "
          "files",
      .path = quote_name(given)};
}

std::string absolute_path(const BoxPath& path, const RootNames& names) {
  std::string name = path.root == Root::kWorkspace ? names.workspace.front() : names.output.front();
  const std::string rest = tidy(path.relative);
  if (!rest.empty()) {
    if (!name.ends_with('/')) {
      name.push_back('/');
    }
    name += rest;
  }
  return name;
}

std::string show_path(const BoxPath& path, const RootNames& names) {
  return quote_name(absolute_path(path, names));
}

std::string file_uri(const BoxPath& path, const RootNames& names) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  std::string uri = "file://";
  for (const char c : absolute_path(path, names)) {
    if (kPlain.find(c) != std::string_view::npos) {
      uri.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    uri.append({'%', kDigits[byte >> 4U], kDigits[byte & 0xfU]});
  }
  return uri;
}

Argument file_path_argument() {
  return path_argument("path", "Relative to the workspace, or absolute inside it.");
}

Argument source_argument() { return path_argument("source", "Existing path."); }

Argument destination_argument() {
  return path_argument("destination", "New path; parents are created.");
}

}  // namespace agentbox::mcp
