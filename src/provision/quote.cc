// pure: see quote.h.
#include "provision/quote.h"

#include <algorithm>

namespace agentbox::provision {
namespace {

bool is_plain(char c, std::string_view others) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         others.find(c) != std::string_view::npos;
}

bool all_plain(std::string_view text, std::string_view others) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [&](char c) { return is_plain(c, others); });
}

}  // namespace

std::string shell_quote(std::string_view word) {
  if (all_plain(word, "_@%+=:,./-")) {
    return std::string(word);
  }
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    line += (line.empty() ? "" : " ") + shell_quote(word);
  }
  return line;
}

std::string any_shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    line += line.empty() ? "" : " ";
    if (all_plain(word, "_@+:,./-")) {
      line += word;
      continue;
    }
    // fish reads a backslash between single quotes, csh an exclamation mark: both stand outside.
    line += '\'';
    for (const char c : word) {
      const bool outside = c == '\'' || c == '\\' || c == '!';
      line += outside ? std::string("'\\") + c + "'" : std::string(1, c);
    }
    line += '\'';
  }
  return line;
}

std::string proxy_command(const std::vector<std::string>& words) {
  std::string value;
  for (const char c : any_shell_line(words)) {
    value += c == '%' ? "%%" : std::string(1, c);
  }
  return value;
}

std::string ssh_quote(std::string_view path) {
  std::string text;
  for (const char c : path) {
    if (c == '%') {
      text += "%%";
    } else if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else {
      text += c;
    }
  }
  return all_plain(path, "_@%+=:,./-") ? text : "\"" + text + "\"";
}

}  // namespace agentbox::provision
