// pure: the audit report as a value: findings, and every claim as rows of tables. Renderers turn it
// into text, JSON, SARIF and HTML; each escapes every field by itself.
#pragma once

#include <string>
#include <vector>

#include "provision/audit/facts.h"
#include "provision/audit/rules.h"

namespace agentbox::provision::audit {

/// Claims of one kind. A row has as many cells as there are columns.
struct Section {
  std::string id;  ///< requests, algorithms, keys, ...: stable
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::string note;  ///< what limits what is told; may be empty
};

struct BoxPaper {
  std::string name;
  std::string state;
  bool live = false;
  bool isolated = true;
  std::string config;  ///< path of the door's configuration
  std::vector<Finding> findings;
  std::vector<Section> sections;
};

struct Paper {
  std::string time;     ///< RFC 3339
  std::string version;  ///< of this program
  std::vector<BoxPaper> boxes;
};

/// Every claim on a box, with what was found.
[[nodiscard]] BoxPaper describe(const BoxFacts& facts);

struct Counts {
  std::size_t errors = 0;
  std::size_t warnings = 0;
};
[[nodiscard]] Counts count(const std::vector<Finding>& findings);
[[nodiscard]] Counts count(const Paper& paper);
/// `sound: nothing was found`, or how much was.
[[nodiscard]] std::string verdict(const Counts& counts);

/// For a terminal: ASCII, no escape sequences.
[[nodiscard]] std::string render_text(const Paper& paper);
/// `agentbox-audit/1`; docs/audit.md has the schema.
[[nodiscard]] OrderedJson render_json(const Paper& paper);
/// SARIF 2.1.0 (OASIS), one run.
[[nodiscard]] OrderedJson render_sarif(const Paper& paper);
/// One page that loads nothing: its policy allows its own style sheet by hash, and nothing else.
[[nodiscard]] std::string render_html(const Paper& paper);

}  // namespace agentbox::provision::audit
