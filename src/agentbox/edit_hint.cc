// pure: see edit_hint.h.
#include "agentbox/edit_hint.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "agentbox/common_ends.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

/// A hint is worth no more than a moment: at most this much of a file is looked at.
constexpr std::size_t kMaxLookedAtBytes = 4UL << 20;
/// Lines compared one by one after a first one agreed, over all places.
constexpr std::size_t kMaxComparedLines = 200'000;
/// Of a longer line only the beginning is compared and shown.
constexpr std::size_t kMaxLineBytes = 200;
/// A line less like the wanted one than this is no help. In hundredths.
constexpr std::size_t kLeastLikeness = 50;

// Quotes that programs of the office kind make of the plain ones.
constexpr std::array<std::pair<std::string_view, char>, 6> kQuotes = {{
    {"\xe2\x80\x98", '\''},  // left and right single
    {"\xe2\x80\x99", '\''},
    {"\xe2\x80\x9c", '"'},  // left and right double
    {"\xe2\x80\x9d", '"'},
    {"\xc2\xa0", ' '},      // no-break space
    {"\xe2\x80\x93", '-'},  // en dash
}};

// LINE with runs of white space as one space, none at the ends, and plain quotes.
std::string essence(std::string_view line) {
  std::string out;
  line = line.substr(0, kMaxLineBytes);
  while (!line.empty()) {
    const auto quote = std::find_if(kQuotes.begin(), kQuotes.end(), [&](const auto& entry) {
      return line.starts_with(entry.first);
    });
    const char next = quote != kQuotes.end() ? quote->second : line.front();
    line.remove_prefix(quote != kQuotes.end() ? quote->first.size() : 1);
    const bool space = next == ' ' || (next >= '\t' && next <= '\r');
    if (!space) {
      out.push_back(next);
    } else if (!out.empty() && out.back() != ' ') {
      out.push_back(' ');
    }
  }
  if (out.ends_with(' ')) {
    out.pop_back();
  }
  return out;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// The wanted lines' essences, without empty ones at the ends.
std::vector<std::string> essences(std::string_view wanted) {
  std::vector<std::string> all;
  for (const std::string_view line : lines_of(wanted.substr(0, kMaxLookedAtBytes))) {
    std::string one = essence(line);
    if (!one.empty() || !all.empty()) {
      all.push_back(std::move(one));
    }
  }
  while (!all.empty() && all.back().empty()) {
    all.pop_back();
  }
  return all;
}

// How much of the longer text the two share at their ends, in hundredths.
std::size_t likeness(std::string_view a, std::string_view b) {
  const std::size_t most = std::max(a.size(), b.size());
  const auto [head, tail] = common_ends(a, b);
  return most == 0 ? 0 : (head + tail) * 100 / most;
}

std::string quoted(std::string_view line) {
  return "\"" + escape_text(line.substr(0, kMaxLineBytes), kMaxLineBytes) + "\"";
}

}  // namespace

std::string hint_for_missing(std::string_view text, std::string_view wanted) {
  const std::vector<std::string> sought = essences(wanted);
  if (sought.empty()) {
    return "Give text that is not only white space";
  }
  const std::vector<std::string_view> lines = lines_of(text.substr(0, kMaxLookedAtBytes));
  std::size_t compared = 0;
  std::size_t best = 0;
  std::size_t best_line = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string first = essence(lines[i]);
    const std::size_t like = likeness(first, sought.front());
    if (like > best) {
      best = like;
      best_line = i;
    }
    std::size_t same = first == sought.front() ? 1 : 0;
    while (same > 0 && same < sought.size() && i + same < lines.size() &&
           compared < kMaxComparedLines && essence(lines[i + same]) == sought[same]) {
      ++same;
      ++compared;
    }
    if (same == sought.size()) {
      const std::string where = same == 1 ? "Line " + std::to_string(i + 1) + " differs"
                                          : "Lines " + std::to_string(i + 1) + " to " +
                                                std::to_string(i + same) + " differ";
      return where + " from it only in white space, line ends or kinds of quotes; the first is " +
             quoted(lines[i]) + ". Copy the text exactly";
    }
  }
  if (best < kLeastLikeness) {
    return "No line is like it; read the file again";
  }
  return "The line most like its first one is " + std::to_string(best_line + 1) + ": " +
         quoted(lines[best_line]) + ". Read the file again around there";
}

}  // namespace agentbox::mcp
