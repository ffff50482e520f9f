// edge: the reader of a box's audit lines: the door's user could have written anything there.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "provision/audit_line.h"
#include "provision/audit_proof.h"
#include "provision/timeline.h"
#include "provision/timeline_svg.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace agentbox::provision;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  OpenSessions open;
  AuditProof proof(KnownHead{7, std::string(64, 'a')});
  TimelineMaker maker;
  while (!rest.empty()) {
    const auto end = std::min(rest.find('\n'), rest.size());
    const std::string_view text = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    static_cast<void>(parse_since(text, 1'709'209'845'006));
    const auto line = parse_audit_line(text);
    static_cast<void>(parse_known_head(text));
    if (!line.ok()) {
      proof.take_other(text);
      continue;
    }
    open.take(*line);
    proof.take(*line, text);
    maker.take(*line);
    if (!agentbox::is_printable_ascii(describe(*line))) {
      std::abort();
    }
  }
  const AuditVerdict verdict = std::move(proof).finish();
  const Timeline timeline = std::move(maker).finish();
  const std::string page = render_timeline_page(timeline, "log", {}, verdict.remarks);
  const bool printable = std::all_of(page.begin(), page.end(), [](char c) {
    return c == '\n' || agentbox::is_printable_ascii(std::string_view(&c, 1));
  });
  const std::string rows = timeline_text(timeline);
  if (verdict.findings.size() > kMaxFindings || !printable ||
      page.find("<script") != std::string::npos || rows.find('\x1b') != std::string::npos) {
    std::abort();
  }
  return 0;
}
