// pure: the audit report as JSON and as SARIF. See paper.h.
#include <algorithm>

#include "base/text.h"
#include "provision/audit/paper.h"

namespace agentbox::provision::audit {
namespace {

constexpr const char* kSchema = "agentbox-audit/1";
constexpr const char* kSarifVersion = "2.1.0";
/// A name, not a place that anything is fetched from.
constexpr const char* kSarifSchema =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

OrderedJson counts_json(const Counts& counts) {
  return {{"error", counts.errors}, {"warning", counts.warnings}};
}

OrderedJson finding_json(const Finding& finding) {
  const Rule& rule = rule_of(finding.rule);
  OrderedJson json{{"rule", rule.code},        {"severity", name_of(rule.severity)},
                   {"title", rule.title},      {"subject", finding.subject},
                   {"detail", finding.detail}, {"why", rule.why},
                   {"fix", rule.fix},          {"reference", rule.reference}};
  json["path"] = finding.path.empty() ? OrderedJson(nullptr) : OrderedJson(finding.path);
  return json;
}

OrderedJson section_json(const Section& section) {
  return {{"id", section.id},
          {"title", section.title},
          {"columns", section.columns},
          {"rows", section.rows},
          {"note", section.note}};
}

OrderedJson box_json(const BoxPaper& box) {
  OrderedJson findings = OrderedJson::array();
  for (const Finding& finding : box.findings) {
    findings.push_back(finding_json(finding));
  }
  OrderedJson sections = OrderedJson::array();
  for (const Section& section : box.sections) {
    sections.push_back(section_json(section));
  }
  return {{"name", box.name},
          {"state", box.state},
          {"live", box.live},
          {"counts", counts_json(count(box.findings))},
          {"findings", std::move(findings)},
          {"sections", std::move(sections)}};
}

// RFC 3986: what is neither unreserved nor a slash is percent-encoded.
std::string uri_path(std::string_view path) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string uri;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    if (plain) {
      uri += c;
    } else {
      uri += '%';
      uri += kDigits[byte >> 4U];
      uri += kDigits[byte & 15U];
    }
  }
  return uri;
}

OrderedJson sarif_rule(const Rule& rule) {
  const bool error = rule.severity == Severity::kError;
  return {{"id", rule.code},
          {"shortDescription", {{"text", rule.title}}},
          {"fullDescription", {{"text", rule.why}}},
          {"help", {{"text", rule.fix}}},
          {"defaultConfiguration", {{"level", name_of(rule.severity)}}},
          // What code scanning shows beside a finding: CVSS-like, so that errors are high.
          {"properties",
           {{"tags", OrderedJson::array({"security", rule.reference})},
            {"security-severity", error ? "8.0" : "5.0"}}}};
}

OrderedJson sarif_result(const BoxPaper& box, const Finding& finding) {
  const Rule& rule = rule_of(finding.rule);
  const std::string path = finding.path.empty() ? box.config : finding.path;
  // The same weakness is the same alert in the next run, whatever its detail says then.
  const std::string same = box.name + '\n' + std::string(rule.code) + '\n' + finding.subject;
  const OrderedJson resource{{"fullyQualifiedName", box.name + "/" + finding.subject},
                             {"kind", "resource"}};
  const OrderedJson place{{"physicalLocation",
                           {{"artifactLocation", {{"uri", "file://" + uri_path(path)}}},
                            {"region", {{"startLine", 1}}}}},
                          {"logicalLocations", OrderedJson::array({resource})}};
  const std::string text = "Box " + box.name + ": " + std::string(rule.title) + ": " +
                           finding.subject + ": " + finding.detail + ". " + std::string(rule.fix);
  return {{"ruleId", rule.code},
          {"ruleIndex", static_cast<std::size_t>(finding.rule)},
          {"level", name_of(rule.severity)},
          {"message", {{"text", text}}},
          {"locations", OrderedJson::array({place})},
          {"partialFingerprints", {{"agentboxFinding/v1", sha256_hex(same)}}}};
}

}  // namespace

OrderedJson render_json(const Paper& paper) {
  OrderedJson boxes = OrderedJson::array();
  for (const BoxPaper& box : paper.boxes) {
    boxes.push_back(box_json(box));
  }
  const Counts counts = count(paper);
  return {{"schema", kSchema},
          {"time", paper.time},
          {"version", paper.version},
          {"sound", counts.errors + counts.warnings == 0},
          {"counts", counts_json(counts)},
          {"boxes", std::move(boxes)}};
}

OrderedJson render_sarif(const Paper& paper) {
  OrderedJson rules = OrderedJson::array();
  for (const Rule& rule : all_rules()) {
    rules.push_back(sarif_rule(rule));
  }
  OrderedJson results = OrderedJson::array();
  for (const BoxPaper& box : paper.boxes) {
    for (const Finding& finding : box.findings) {
      results.push_back(sarif_result(box, finding));
    }
  }
  const OrderedJson driver{{"name", "agentbox-provision audit"},
                           {"version", paper.version},
                           {"rules", std::move(rules)}};
  const OrderedJson run{
      {"tool", {{"driver", driver}}},
      {"columnKind", "utf16CodeUnits"},
      {"invocations", OrderedJson::array({OrderedJson{{"executionSuccessful", true},
                                                      {"endTimeUtc", paper.time}}})},
      {"results", std::move(results)}};
  return {
      {"$schema", kSarifSchema}, {"version", kSarifVersion}, {"runs", OrderedJson::array({run})}};
}

}  // namespace agentbox::provision::audit
