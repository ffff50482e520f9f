// edge: see command.h.
#include "provision/audit/command.h"

#include <chrono>

#include "base/utc.h"
#include "provision/audit/gather.h"
#include "provision/audit/paper.h"
#include "provision/local_file.h"

namespace agentbox::provision::audit {
namespace {

std::string now_text() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return format_time(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

BoxFacts unreadable(const LocalBackend& backend, const BoxName& name, const std::string& why) {
  BoxFacts facts;
  facts.name = name.text();
  facts.state = "unknown";
  facts.config = backend.store().paths(name).config;
  facts.policy_error = why;
  return facts;
}

Answer<Paper> make_paper(const LocalBackend& backend, const Audit& wanted) {
  Paper paper = new_paper();
  std::vector<BoxName> names;
  if (wanted.name) {
    names.push_back(*wanted.name);
  } else {
    AB_TRY(all, backend.store().names());
    names = std::move(all);
  }
  if (names.empty()) {
    return Failure{Exit::kNoSuchBox, "there is no box in " + backend.store().root(),
                   "`agentbox-provision create NAME` makes one; AGENTBOX_STATE_DIR names another "
                   "folder of boxes"};
  }
  for (const BoxName& name : names) {
    auto facts = gather(backend, name, wanted.live);
    if (!facts.ok() && wanted.name) {
      return std::move(facts).error();
    }
    // Among many, one that cannot be looked at hides no other.
    paper.boxes.push_back(
        describe(facts.ok() ? *facts : unreadable(backend, name, facts.error().message)));
  }
  return paper;
}

Report rendered_as(AuditFormat format, const Paper& paper) {
  Report report;
  report.json = format == AuditFormat::kSarif ? render_sarif(paper) : render_json(paper);
  switch (format) {
    case AuditFormat::kText:
      report.text = render_text(paper);
      break;
    case AuditFormat::kHtml:
      report.text = render_html(paper);
      break;
    case AuditFormat::kJson:
    case AuditFormat::kSarif:
      report.text = dump_json(report.json, 2) + "\n";
      break;
  }
  return report;
}

bool fails(const Counts& counts, AuditFailOn fail_on) {
  return (fail_on != AuditFailOn::kNothing && counts.errors > 0) ||
         (fail_on == AuditFailOn::kWarning && counts.warnings > 0);
}

// Mode 0600: it tells where everything of the box lies.
Done write_to(const std::string& file, const std::string& text) {
  AB_TRY(target, LocalTarget::open(file, 0600));
  AB_CHECK(target.write(text));
  AB_CHECK(target.finish());
  return {};
}

}  // namespace

Paper new_paper() { return Paper{now_text(), AGENTBOX_VERSION, {}}; }

Answer<Report> audit(const LocalBackend& backend, const Audit& wanted) {
  AB_TRY(paper, make_paper(backend, wanted));
  return tell(paper, wanted);
}

Answer<Report> tell(const Paper& paper, const Audit& wanted) {
  const Counts counts = count(paper);
  Report report = rendered_as(wanted.format, paper);
  if (!wanted.out.empty()) {
    AB_CHECK(write_to(wanted.out, report.text));
    report.printed = wanted.out == "-";
    report.text = verdict(counts) + "; the report is " +
                  (report.printed ? "on standard output" : "in " + wanted.out) + "\n";
    report.json = {{"written", wanted.out},
                   {"counts", {{"error", counts.errors}, {"warning", counts.warnings}}}};
  }
  report.exit = fails(counts, wanted.fail_on) ? Exit::kCheckFailed : Exit::kOk;
  return report;
}

}  // namespace agentbox::provision::audit
