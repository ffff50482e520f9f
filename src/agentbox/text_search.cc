// pure: see text_search.h.
#include "agentbox/text_search.h"

#include <algorithm>
#include <utility>

#include "agentbox/capture.h"

namespace agentbox::mcp {
namespace {

constexpr std::string_view kCut = "...";

std::size_t line_start(std::string_view text, std::size_t at) {
  const std::size_t newline = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  return newline == std::string_view::npos ? 0 : newline + 1;
}

// Where the line that holds AT ends: its newline, or the text's end.
std::size_t line_end(std::string_view text, std::size_t at) {
  return std::min(text.find('\n', at), text.size());
}

std::string_view without_return(std::string_view line) {
  return line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
}

// At most LIMIT bytes of LINE with the byte AT among them; cuts lie between characters.
std::string shorten(std::string_view line, std::size_t at, std::size_t limit) {
  if (line.size() <= limit) {
    return std::string(line);
  }
  std::size_t start = at > limit / 4 ? at - limit / 4 : 0;
  start = std::min(start, line.size() - limit);
  std::string_view part = line.substr(start, limit);
  const std::size_t broken = start > 0 ? continuation_prefix(part) : 0;
  part.remove_prefix(broken);
  if (start + broken + part.size() < line.size()) {
    part.remove_suffix(incomplete_suffix(part));
  }
  return std::string(start > 0 ? kCut : "") + std::string(part) +
         std::string(start + broken + part.size() < line.size() ? kCut : "");
}

std::uint64_t count_newlines(std::string_view text) {
  return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

// The start of the line COUNT lines above the one that starts at START.
std::size_t lines_above(std::string_view text, std::size_t start, std::size_t count) {
  for (; count > 0 && start > 0; --count) {
    start = line_start(text, start - 1);
  }
  return start;
}

std::size_t size_of(const LineMatch& match) {
  std::size_t size = sizeof(match) + match.text.size();
  for (const auto* lines : {&match.before, &match.after}) {
    for (const std::string& line : *lines) {
      size += sizeof(line) + line.size();
    }
  }
  return size;
}

}  // namespace

LineMatch TextSearcher::describe(std::string_view window, Range line, std::size_t match) const {
  LineMatch found;
  found.column = match - line.start + 1;
  if (search_.count_only) {
    return found;
  }
  const std::size_t limit = search_.max_line_bytes;
  const std::string_view text = without_return(window.substr(line.start, line.end - line.start));
  found.text = shorten(text, match - line.start, limit);
  for (std::size_t at = lines_above(window, line.start, search_.before); at < line.start;) {
    const std::size_t end = line_end(window, at);
    found.before.push_back(shorten(without_return(window.substr(at, end - at)), 0, limit));
    at = end + 1;
  }
  std::size_t at = line.end + 1;
  for (std::size_t i = 0; i < search_.after && at < window.size(); ++i) {
    const std::size_t end = line_end(window, at);
    found.after.push_back(shorten(without_return(window.substr(at, end - at)), 0, limit));
    at = end + 1;
  }
  return found;
}

std::size_t TextSearcher::take(std::string_view window, bool last, std::vector<LineMatch>& matches,
                               std::size_t limit) {
  // What ends in the window for sure; a match in the rest is looked for again with more behind it.
  const std::size_t whole = last ? window.size() : line_start(window, window.size());
  std::size_t at = searched_;
  std::size_t counted = 0;
  std::uint64_t line = line_;
  while (at < whole && matches.size() < limit && has_room()) {
    auto found = search_.pattern->find(window.substr(0, whole), at);
    if (!found) {
      at = whole;
      break;
    }
    Range range{line_start(window, found->start), line_end(window, found->start)};
    if (search_.multiline) {
      const std::size_t last_byte = std::max(found->start, found->end == 0 ? 0 : found->end - 1);
      range.end = line_end(window, std::min(last_byte, window.size()));
    } else {
      // A class such as \s can match a newline: what counts is whether the line itself matches.
      found = search_.pattern->find(window.substr(range.start, range.end - range.start), 0);
      if (!found) {
        at = range.end + 1;
        continue;
      }
      found->start += range.start;
    }
    if (range.start >= window.size() && !window.empty()) {
      at = whole;  // an empty match behind the last newline is in no line
      break;
    }
    std::size_t needed = range.end;
    for (std::size_t i = 0; i < search_.after && needed < window.size(); ++i) {
      needed = line_end(window, needed + 1);
    }
    if (!last && needed >= window.size()) {
      at = range.start;  // its lines behind are still to come
      break;
    }
    line += count_newlines(window.substr(counted, range.start - counted));
    counted = range.start;
    LineMatch match = describe(window, range, found->start);
    match.line = line;
    kept_bytes_ += size_of(match);
    matches.push_back(std::move(match));
    at = range.end + 1;
  }
  const std::size_t done = std::min(at, window.size());
  const std::size_t kept = lines_above(window, line_start(window, done), search_.before);
  line_ += count_newlines(window.substr(0, kept));
  searched_ = done - kept;
  return kept;
}

}  // namespace agentbox::mcp
