// pure: the audit report as one page. See paper.h.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "provision/audit/paper.h"
#include "provision/audit/style.h"

namespace agentbox::provision::audit {
namespace {

// Printable ASCII by escape_text(), then nothing that HTML would read: good in text and in quotes.
std::string html(std::string_view text) {
  std::string out;
  for (const char c : escape_text(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// TEXT as a class where it is one of those the style sheet knows; nothing else becomes a name.
std::string class_of(std::string_view text) {
  static constexpr std::array<std::string_view, 6> kKnown = {"refused", "granted", "rule",
                                                             "held",    "GRANTED", "error"};
  const bool known = std::find(kKnown.begin(), kKnown.end(), text) != kKnown.end();
  return known ? std::string(text) : "warning";
}

std::string tag(std::string_view text) {
  return "<span class=\"tag " + class_of(text) + "\">" + html(text) + "</span>";
}

bool has_any(const BoxPaper& box, std::initializer_list<RuleId> rules) {
  return std::any_of(box.findings.begin(), box.findings.end(), [&](const Finding& finding) {
    return std::find(rules.begin(), rules.end(), finding.rule) != rules.end();
  });
}

std::string finding_html(const Finding& finding) {
  const Rule& rule = rule_of(finding.rule);
  const std::string severity(name_of(rule.severity));
  return "<div class=\"finding " + severity + "\"><h4>" + tag(severity) + " " + html(rule.code) +
         " " + html(rule.title) + "</h4><dl><dt>what</dt><dd><code>" + html(finding.subject) +
         "</code><br>" + html(finding.detail) + "</dd><dt>why</dt><dd>" + html(rule.why) +
         "</dd><dt>fix</dt><dd>" + html(rule.fix) + "</dd><dt>see</dt><dd>" + html(rule.reference) +
         "</dd></dl></div>\n";
}

std::string zone(std::string_view kind, std::string_view title, std::string_view who,
                 std::initializer_list<std::string_view> holds) {
  std::string out = "<div class=\"zone " + std::string(kind) + "\"><b>" + html(title) +
                    "</b><span class=\"soft\">" + html(who) + "</span><ul>";
  for (const std::string_view each : holds) {
    out += "<li>" + html(each) + "</li>";
  }
  return out + "</ul></div>";
}

std::string way(std::string_view above, std::string_view below, bool broken) {
  return "<div class=\"way\"><span>" + html(above) + "</span><i></i><strong" +
         (broken ? " class=\"error\"" : "") + ">" + html(below) + "</strong></div>";
}

// Who trusts whom: three zones and the two ways between them.
std::string map_html(const BoxPaper& box) {
  const bool entry = has_any(box, {RuleId::kKeysTrustAny, RuleId::kGrantsRequest,
                                   RuleId::kTrialGranted, RuleId::kUnknownKey});
  const bool wall = !box.isolated || has_any(box, {RuleId::kSharedNamespace, RuleId::kSharedUser,
                                                   RuleId::kWallOpen});
  return "<h3>Trust boundaries</h3><div class=\"map\" role=\"img\" aria-label=\"The client enters "
         "the door with one key over SSH; behind a wall the box runs the tools\">" +
         zone("client", "client", "whoever holds the key",
              {"the agent's MCP client", "its private key", "the pinned host key"}) +
         way("SSH, one key", entry ? "entry is weak" : "only the tool server", entry) +
         zone("door", "door", "user of its own; runs nothing of the agent's",
              {"monitor: keys, audit, sessions", "listener: port, host key",
               "network child: one per connection, locked"}) +
         way("JSON lines",
             !box.isolated ? "NO wall"
             : wall        ? "the wall has a hole"
                           : "wall: namespaces",
             wall) +
         zone("box", "box", "everything here is the agent's",
              {"agent-box: tools", "commands and jobs", "workspace, home, tmp"}) +
         "</div>\n";
}

const Section* find_section(const BoxPaper& box, std::string_view id) {
  const auto at = std::find_if(box.sections.begin(), box.sections.end(),
                               [&](const Section& section) { return section.id == id; });
  return at == box.sections.end() ? nullptr : &*at;
}

// One cell for each thing a client can ask for; the sections' own columns: what, outcome, words.
std::string matrix_html(const Section& section) {
  std::string out = "<h3>" + html(section.title) + "</h3>";
  if (!section.note.empty()) {
    out += "<p class=\"soft\">" + html(section.note) + "</p>";
  }
  out += "<ul class=\"matrix\">";
  for (const auto& row : section.rows) {
    out += "<li class=\"" + class_of(row[1]) + "\"><span>" + html(row[0]) + "</span>" +
           tag(row[1]) + (row[2].empty() ? "" : "<small>" + html(row[2]) + "</small>") + "</li>";
  }
  return out + "</ul>\n";
}

std::string table_html(const Section& section) {
  std::string out = "<h3>" + html(section.title) + "</h3>";
  if (!section.rows.empty()) {
    out += "<div class=\"table\"><table><thead><tr>";
    for (const std::string& column : section.columns) {
      out += "<th scope=\"col\">" + html(column) + "</th>";
    }
    out += "</tr></thead><tbody>";
    for (const auto& row : section.rows) {
      out += "<tr>";
      for (std::size_t i = 0; i < row.size(); ++i) {
        out += "<td data-column=\"" + html(section.columns[i]) + "\">" + html(row[i]) + "</td>";
      }
      out += "</tr>";
    }
    out += "</tbody></table></div>";
  }
  if (!section.note.empty()) {
    out += "<p class=\"soft\">" + html(section.note) + "</p>";
  }
  return out + "\n";
}

std::string verdict_html(const Counts& counts) {
  const char* kind = counts.errors > 0 ? " error" : counts.warnings > 0 ? " warning" : "";
  return std::string("<p class=\"verdict") + kind + "\">" + html(verdict(counts)) + "</p>";
}

std::string box_html(const BoxPaper& box) {
  std::string out = "<section><h2>Box " + html(box.name) + "</h2><p class=\"soft\">" +
                    html(box.state) + (box.live ? ", tried live" : ", not tried live") + "</p>" +
                    verdict_html(count(box.findings)) + "\n";
  for (const Finding& finding : box.findings) {
    out += finding_html(finding);
  }
  out += map_html(box);
  for (const char* id : {"requests", "trials"}) {
    if (const Section* section = find_section(box, id); section != nullptr) {
      out += matrix_html(*section);
    }
  }
  for (const Section& section : box.sections) {
    if (section.id != "requests" && section.id != "trials") {
      out += table_html(section);
    }
  }
  return out + "</section>\n";
}

}  // namespace

std::string render_html(const Paper& paper) {
  const std::string style(style_sheet());
  const std::string policy = "default-src 'none'; style-src 'sha256-" +
                             base64_encode(sha256(style)) +
                             "'; base-uri 'none'; form-action 'none'";
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"" +
      policy +
      "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"referrer\" content=\"no-referrer\">\n<title>agentbox audit</title>\n<style>" +
      style + "</style></head>\n<body><main>\n<h1>agentbox audit</h1><p class=\"soft\">" +
      html(paper.time) + ", agentbox-provision " + html(paper.version) + "</p>\n";
  if (paper.boxes.size() != 1) {
    out += "<p>" + std::to_string(paper.boxes.size()) + " boxes</p>" + verdict_html(count(paper));
  }
  for (const BoxPaper& box : paper.boxes) {
    out += box_html(box);
  }
  return out + "</main></body></html>\n";
}

}  // namespace agentbox::provision::audit
