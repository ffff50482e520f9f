// pure: the audit report for a terminal. See paper.h.
#include <algorithm>

#include "base/text.h"
#include "provision/audit/paper.h"

namespace agentbox::provision::audit {
namespace {

/// A cell that is longer than this is shown whole, and does not push the others to the right.
constexpr std::size_t kWidestColumn = 60;

// escape_text() doubles backslashes and hides nothing; a terminal sees printable ASCII alone.
std::string shown(const std::string& text) { return escape_text(text); }

std::string findings_text(const BoxPaper& box) {
  std::string text;
  for (const Finding& finding : box.findings) {
    const Rule& rule = rule_of(finding.rule);
    const std::string severity(name_of(rule.severity));
    text += "\n" + severity + std::string(9 - severity.size(), ' ') + std::string(rule.code) +
            "  " + std::string(rule.title) + "\n";
    text += "  what     " + shown(finding.subject) + ": " + shown(finding.detail) + "\n";
    text += "  why      " + std::string(rule.why) + "\n";
    text += "  fix      " + std::string(rule.fix) + "\n";
    text += "  see      " + std::string(rule.reference) + "\n";
  }
  return text;
}

void add_row(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths,
             std::string& text) {
  std::string line = " ";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string cell = shown(cells[i]);
    line += " " + cell;
    if (i + 1 < cells.size() && cell.size() < widths[i]) {
      line.append(widths[i] - cell.size(), ' ');
    }
    line += " ";
  }
  line.erase(line.find_last_not_of(' ') + 1);
  text += line + "\n";
}

std::string section_text(const Section& section) {
  std::vector<std::size_t> widths(section.columns.size());
  const auto widen = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < std::min(cells.size(), widths.size()); ++i) {
      widths[i] = std::max(widths[i], std::min(shown(cells[i]).size(), kWidestColumn));
    }
  };
  widen(section.columns);
  std::for_each(section.rows.begin(), section.rows.end(), widen);
  std::string text = "\n" + section.title + "\n";
  if (!section.rows.empty()) {
    add_row(section.columns, widths, text);
    for (const auto& row : section.rows) {
      add_row(row, widths, text);
    }
  }
  if (!section.note.empty()) {
    text += "  (" + shown(section.note) + ")\n";
  }
  return text;
}

}  // namespace

std::string render_text(const Paper& paper) {
  std::string text;
  for (const BoxPaper& box : paper.boxes) {
    text += "box " + shown(box.name) + ", " + shown(box.state) + ", " + paper.time + "\n";
    text += verdict(count(box.findings)) + (box.live ? "" : " (not tried live; see --live)") + "\n";
    text += findings_text(box);
    for (const Section& section : box.sections) {
      text += section_text(section);
    }
    text += "\n";
  }
  if (paper.boxes.size() != 1) {
    text += std::to_string(paper.boxes.size()) + " boxes: " + verdict(count(paper)) + "\n";
  }
  return text;
}

}  // namespace agentbox::provision::audit
