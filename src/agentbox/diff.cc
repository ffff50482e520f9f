// pure: see diff.h.
#include "agentbox/diff.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "agentbox/common_ends.h"

// The one door to the diff library; its templates are not written for our warnings.
#include <dtl/dtl.hpp>

namespace agentbox::mcp {
namespace {

constexpr std::size_t kContextLines = 3;
/// Lines that differ, both sides together; finding the shortest way takes their number squared at
/// worst.
constexpr std::size_t kMaxComparedLines = 4000;

using Lines = std::vector<std::string_view>;

// Each line keeps its newline, so that a last one without differs from one with.
Lines split_lines(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::size_t size = end == std::string_view::npos ? text.size() : end + 1;
    lines.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return lines;
}

// One line of the way from one text to the other.
struct Step {
  char kind = ' ';  // ' ', '-' or '+', as it is printed
  std::string_view line;
};

void add_way(const Lines& from, const Lines& to, std::vector<Step>& steps) {
  if (from.size() + to.size() > kMaxComparedLines) {
    for (const std::string_view line : from) {
      steps.push_back({'-', line});
    }
    for (const std::string_view line : to) {
      steps.push_back({'+', line});
    }
    return;
  }
  dtl::Diff<std::string_view, Lines> diff(from, to);
  diff.compose();
  for (const auto& [line, info] : diff.getSes().getSequence()) {
    const bool added = info.type == dtl::SES_ADD;
    steps.push_back({added ? '+' : info.type == dtl::SES_DELETE ? '-' : ' ', line});
  }
}

// The lines of both texts in one row; what is equal at both ends need not be compared.
std::vector<Step> find_way(const Lines& before, const Lines& after) {
  const CommonEnds ends = common_ends(before, after);
  const auto middle = [&](const Lines& lines) {
    return Lines(lines.begin() + static_cast<std::ptrdiff_t>(ends.head),
                 lines.end() - static_cast<std::ptrdiff_t>(ends.tail));
  };
  std::vector<Step> steps;
  steps.reserve(std::max(before.size(), after.size()));
  for (std::size_t i = 0; i < ends.head; ++i) {
    steps.push_back({' ', before[i]});
  }
  add_way(middle(before), middle(after), steps);
  for (std::size_t i = before.size() - ends.tail; i < before.size(); ++i) {
    steps.push_back({' ', before[i]});
  }
  return steps;
}

// "12,3" as a hunk's head has it: the first line and how many.
std::string range(std::size_t lines_before, std::size_t count) {
  const std::size_t first = count == 0 ? lines_before : lines_before + 1;
  return std::to_string(first) + (count == 1 ? "" : "," + std::to_string(count));
}

class HunkWriter {
 public:
  explicit HunkWriter(const std::vector<Step>& steps) : steps_(steps) {}

  // The next hunk; empty where there is none.
  std::string next() {
    std::size_t first = at_;
    while (first < steps_.size() && steps_[first].kind == ' ') {
      ++first;
    }
    if (first == steps_.size()) {
      return {};
    }
    const std::size_t start = std::max(at_, first - std::min(first, kContextLines));
    skip_to(start);
    const std::size_t end = end_of_hunk(first);
    const std::size_t old_start = old_line_;
    const std::size_t new_start = new_line_;
    std::string body;
    for (std::size_t i = start; i < end; ++i) {
      body.push_back(steps_[i].kind);
      body.append(steps_[i].line);
      if (!steps_[i].line.ends_with('\n')) {
        body.append("\n\\ No newline at end of file\n");
      }
    }
    skip_to(end);
    return "@@ -" + range(old_start, old_line_ - old_start) + " +" +
           range(new_start, new_line_ - new_start) + " @@\n" + body;
  }

 private:
  // Two changes with no more than twice the context between them share a hunk.
  [[nodiscard]] std::size_t end_of_hunk(std::size_t changed) const {
    std::size_t end = changed + 1;
    for (std::size_t i = end; i < steps_.size() && i < end + 2 * kContextLines + 1; ++i) {
      if (steps_[i].kind != ' ') {
        end = i + 1;
      }
    }
    return std::min(end + kContextLines, steps_.size());
  }

  void skip_to(std::size_t step) {
    for (; at_ < step; ++at_) {
      old_line_ += steps_[at_].kind != '+' ? 1U : 0U;
      new_line_ += steps_[at_].kind != '-' ? 1U : 0U;
    }
  }

  const std::vector<Step>& steps_;
  std::size_t at_ = 0;
  std::size_t old_line_ = 0;
  std::size_t new_line_ = 0;
};

}  // namespace

UnifiedDiff unified_diff(std::string_view before, std::string_view after, std::string_view name,
                         std::size_t limit) {
  UnifiedDiff diff;
  if (before == after) {
    return diff;
  }
  const std::vector<Step> steps = find_way(split_lines(before), split_lines(after));
  diff.text = "--- a/" + std::string(name) + "\n+++ b/" + std::string(name) + "\n";
  HunkWriter hunks(steps);
  for (std::string hunk = hunks.next(); !hunk.empty(); hunk = hunks.next()) {
    if (diff.text.size() + hunk.size() > limit) {
      const std::size_t room = limit > diff.text.size() ? limit - diff.text.size() : 0;
      const std::size_t cut = hunk.rfind('\n', room);
      diff.text.append(hunk, 0, room == 0 || cut == std::string::npos ? 0 : cut + 1);
      diff.truncated = true;
      break;
    }
    diff.text += hunk;
  }
  return diff;
}

}  // namespace agentbox::mcp
