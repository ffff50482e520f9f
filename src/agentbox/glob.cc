// pure: see glob.h.
#include "agentbox/glob.h"

#include <algorithm>
#include <string>

#include "agentbox/visible.h"

namespace agentbox::mcp {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

// Takes the first character off REST, a backslash before it too.
Character take_character(std::string_view& rest) {
  if (rest.front() == '\\' && rest.size() > 1) {
    rest.remove_prefix(1);
  }
  const Character c = first_character(rest);
  rest.remove_prefix(c.bytes);
  return c;
}

// The place of the first C of CHARACTERS outside brackets, braces and escapes from AT on.
std::size_t find_outside(std::string_view text, std::size_t at, std::string_view characters) {
  std::size_t depth = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\\') {
      ++at;
    } else if (depth == 0 && characters.find(c) != kNone) {
      return at;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && depth > 0) {
      --depth;
    }
  }
  return kNone;
}

// TEXT with its first {..} spelled out, as often as there is one.
Status expand_braces(std::string text, std::vector<std::string>& done) {
  std::vector<std::string> todo{std::move(text)};
  while (!todo.empty()) {
    const std::string next = std::move(todo.back());
    todo.pop_back();
    const std::size_t open = find_outside(next, 0, "{");
    if (open == kNone) {
      done.push_back(next);
    } else {
      const std::size_t close = find_outside(next, open + 1, "}");
      if (close == kNone) {
        return Error{Code::kInvalid, "a { is not closed"};
      }
      for (std::size_t at = open + 1; at <= close;) {
        const std::size_t end = std::min(find_outside(next, at, ",}"), close);
        todo.push_back(next.substr(0, open) + next.substr(at, end - at) + next.substr(close + 1));
        at = end + 1;
      }
    }
    if (done.size() + todo.size() > kMaxGlobAlternatives) {
      return Error{Code::kInvalid, "its braces stand for more than " +
                                       std::to_string(kMaxGlobAlternatives) + " patterns"};
    }
  }
  return {};
}

std::size_t next_slash(std::string_view text) { return std::min(text.find('/'), text.size()); }

}  // namespace

Result<Glob> Glob::compile(std::string_view text) {
  if (text.empty()) {
    return Error{Code::kInvalid, "it is empty"};
  }
  std::vector<std::string> spelled_out;
  AB_CHECK(expand_braces(std::string(text), spelled_out));
  Glob glob;
  for (const std::string& one : spelled_out) {
    AB_TRY(parts, compile_parts(one));
    glob.alternatives_.push_back(std::move(parts));
  }
  return glob;
}

Result<Glob::Parts> Glob::compile_parts(std::string_view text) {
  Parts parts;
  while (!text.empty()) {
    const std::size_t end = next_slash(text);
    const std::string_view name = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (name.empty() || name == ".") {
      continue;
    }
    if (name == "**") {
      if (parts.empty() || !parts.back().any_folders) {
        parts.push_back({.any_folders = true});
      }
      continue;
    }
    AB_TRY(part, compile_part(name));
    parts.push_back(std::move(part));
  }
  if (!parts.empty() && parts.back().any_folders) {
    parts.push_back({.tokens = {Token{.kind = Token::Kind::kStar}}});  // at least one name
  }
  return parts;
}

Result<Glob::Part> Glob::compile_part(std::string_view text) {
  Part part;
  while (!text.empty()) {
    if (text.front() == '*') {
      text.remove_prefix(1);
      if (part.tokens.empty() || part.tokens.back().kind != Token::Kind::kStar) {
        part.tokens.push_back({.kind = Token::Kind::kStar});
      }
    } else if (text.front() == '?') {
      text.remove_prefix(1);
      part.tokens.push_back({.kind = Token::Kind::kAny});
    } else if (text.front() == '[') {
      AB_TRY(token, compile_class(text));
      part.tokens.push_back(std::move(token));
    } else {
      const Character c = take_character(text);
      part.tokens.push_back({.kind = Token::Kind::kCharacter, .value = c.value, .valid = c.valid});
    }
  }
  return part;
}

// Takes "[a-z]", "[!abc]" or "[^]x]" off REST.
Result<Glob::Token> Glob::compile_class(std::string_view& rest) {
  Token token{.kind = Token::Kind::kClass};
  rest.remove_prefix(1);
  if (rest.starts_with('!') || rest.starts_with('^')) {
    token.negated = true;
    rest.remove_prefix(1);
  }
  bool first = true;  // a ] right at the beginning stands for itself
  while (!rest.empty() && (first || rest.front() != ']')) {
    first = false;
    const char32_t low = take_character(rest).value;
    char32_t high = low;
    if (rest.size() > 1 && rest.front() == '-' && rest[1] != ']') {
      rest.remove_prefix(1);
      high = take_character(rest).value;
    }
    token.ranges.emplace_back(low, high);
  }
  if (rest.empty()) {
    return Error{Code::kInvalid, "a [ is not closed"};
  }
  rest.remove_prefix(1);
  return token;
}

bool Glob::part_matches(const Part& part, std::string_view name) {
  const auto fits = [](const Token& token, const Character& c) {
    if (token.kind == Token::Kind::kAny) {
      return true;
    }
    if (token.kind == Token::Kind::kCharacter) {
      return token.value == c.value && token.valid == c.valid;
    }
    const bool among =
        c.valid && std::any_of(token.ranges.begin(), token.ranges.end(), [&](const auto& range) {
          return c.value >= range.first && c.value <= range.second;
        });
    return among != token.negated;
  };
  const auto& tokens = part.tokens;
  std::size_t at = 0;        // in tokens
  std::size_t star = kNone;  // the last star met, and what of the name was left then
  std::string_view after_star;
  while (!name.empty()) {
    const Character c = first_character(name);
    if (at < tokens.size() && tokens[at].kind == Token::Kind::kStar) {
      star = at++;
      after_star = name;
    } else if (at < tokens.size() && fits(tokens[at], c)) {
      ++at;
      name.remove_prefix(c.bytes);
    } else if (star != kNone) {
      after_star.remove_prefix(first_character(after_star).bytes);  // the star takes one more
      name = after_star;
      at = star + 1;
    } else {
      return false;
    }
  }
  return std::all_of(tokens.begin() + static_cast<std::ptrdiff_t>(at), tokens.end(),
                     [](const Token& token) { return token.kind == Token::Kind::kStar; });
}

bool Glob::parts_match(const Parts& parts, std::string_view path) {
  std::size_t at = 0;
  std::size_t star = kNone;
  std::string_view after_star;
  while (!path.empty()) {
    const std::size_t end = next_slash(path);
    const std::string_view rest = path.substr(std::min(end + 1, path.size()));
    if (at < parts.size() && parts[at].any_folders) {
      star = at++;
      after_star = path;
    } else if (at < parts.size() && part_matches(parts[at], path.substr(0, end))) {
      ++at;
      path = rest;
    } else if (star != kNone) {
      after_star.remove_prefix(std::min(next_slash(after_star) + 1, after_star.size()));
      path = after_star;
      at = star + 1;
    } else {
      return false;
    }
  }
  return at == parts.size();
}

bool Glob::matches(std::string_view path) const {
  return std::any_of(alternatives_.begin(), alternatives_.end(),
                     [&](const Parts& parts) { return parts_match(parts, path); });
}

}  // namespace agentbox::mcp
