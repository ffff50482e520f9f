// edge: see audit_log.h.
#include "provision/audit_log.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <thread>
#include <utility>

#include "provision/audit_head.h"
#include "provision/audit_reader.h"
#include "provision/timeline.h"
#include "provision/timeline_svg.h"

namespace agentbox::provision {
namespace {

using Clock = std::chrono::steady_clock;

/// The door counts a line before it writes it: what is not there yet may come.
constexpr auto kLineWait = std::chrono::seconds(2);
constexpr auto kLinePause = std::chrono::milliseconds(20);

std::int64_t now_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

Answer<AuditFilter> filter_of(const AuditLog& wanted) {
  AuditFilter filter{{}, wanted.event, wanted.key};
  if (!wanted.event.empty() && !is_audit_event(wanted.event)) {
    return Failure{Exit::kUsage, "--event: no door writes an event of that name",
                   "one of " + audit_event_names()};
  }
  if (!wanted.since.empty()) {
    auto since = parse_since(wanted.since, now_ms());
    if (!since.ok()) {
      return Failure{Exit::kUsage, since.error().what, "for example: --since 2h"};
    }
    filter.since = std::move(since).value();
  }
  if (!filter.key.empty() && !is_fingerprint(filter.key)) {
    return Failure{Exit::kUsage, "--key wants a fingerprint: SHA256: and 43 characters",
                   "`agentbox-provision status` shows those of a box"};
  }
  return filter;
}

// A log, and what is known of it from elsewhere.
struct Source {
  std::string path;
  LogPath kind = LogPath::kChosen;
  std::optional<KnownHead> known;
  std::string head_of;  ///< who told the head; for people
  std::string no_head;  ///< why there is none
  bool may_be_missing = false;
  std::map<std::string, std::string> labels;
};

Source source_of_box(const BoxPaths& paths) {
  Source source{paths.audit_log_real, LogPath::kOfBox, {}, {}, {}, true, {}};
  auto head = read_audit_head(paths.door_state);
  if (head.ok()) {
    source.known = KnownHead{head->sequence, head->hash};
    source.head_of = "the door's state folder";
  } else if (head.error().code != Code::kNotFound) {
    source.no_head = "the head in the door's state folder cannot be read: " + head.error().what;
  }
  return source;
}

Answer<Source> source_of(const Store& store, const AuditLog& wanted) {
  Source source{wanted.file, LogPath::kChosen, {}, {}, {}, false, {}};
  if (wanted.box) {
    AB_TRY(record, store.load_existing(*wanted.box));
    source = source_of_box(store.paths(record.name));
    for (const NamedKey& entry : record.keys) {
      source.labels[entry.key.fingerprint()] = entry.label;
    }
  }
  if (!wanted.head.empty()) {
    auto head = parse_known_head(wanted.head);
    if (!head.ok()) {
      return Failure{Exit::kUsage, "--head: " + head.error().what,
                     "`agentbox-provision status` shows the head, and so do the lines 'audit head' "
                     "of the door's log"};
    }
    source.known = std::move(head).value();
    source.head_of = "--head";
  }
  return source;
}

Result<AuditVerdict> prove(const Source& source, const AuditReader::Taker& take) {
  AuditReader reader(source.path, source.kind);
  AuditProof proof(source.known);
  const auto deadline = Clock::now() + kLineWait;
  const auto read = [&] {
    return reader.read(
        [&](const AuditLine& line, std::string_view text) {
          proof.take(line, text);
          take(line, text);
        },
        [&](std::string_view text) { proof.take_other(text); });
  };
  Status done = read();
  while (done.ok() && source.kind == LogPath::kOfBox && source.known &&
         proof.newest() < source.known->sequence && Clock::now() < deadline) {
    std::this_thread::sleep_for(kLinePause);
    done = read();
  }
  if (!done.ok() && !(source.may_be_missing && done.error().code == Code::kNotFound)) {
    return std::move(done).error();
  }
  if (reader.ends_within_line()) {
    proof.take_cut();
  }
  if (reader.has_carriage_returns()) {
    proof.take_carriage_returns();
  }
  AuditVerdict verdict = std::move(proof).finish();
  if (!source.no_head.empty()) {
    verdict.remarks.push_back(source.no_head);
  }
  return verdict;
}

std::string head_words(const AuditHead& head) {
  return std::to_string(head.sequence) + ":" + head.hash;
}

std::vector<std::string> finding_words(const AuditVerdict& verdict) {
  std::vector<std::string> words;
  for (const AuditFinding& finding : verdict.findings) {
    words.push_back("NOT WHOLE: " + finding.text);
  }
  if (verdict.more > 0) {
    words.push_back("NOT WHOLE: " + std::to_string(verdict.more) + " more finding(s) of that kind");
  }
  return words;
}

std::vector<std::string> remark_words(const AuditVerdict& verdict, const Source& source) {
  std::vector<std::string> words;
  for (const std::string& remark : verdict.remarks) {
    words.push_back("unproven: " + remark);
  }
  if (verdict.whole()) {
    const std::string from =
        verdict.first > 1 ? " from line " + std::to_string(verdict.first) + " on" : "";
    words.push_back("whole" + from + ": " + std::to_string(verdict.lines) +
                    " lines, none missing or changed" +
                    (verdict.tail_proven ? "; " + source.head_of + " has the head of the last one"
                                         : std::string()));
  }
  words.push_back("head: " + head_words(verdict.head));
  return words;
}

void add_verdict(const AuditVerdict& verdict, const Source& source, Report& report) {
  report.json["whole"] = verdict.whole();
  report.json["lines"] = verdict.lines;
  report.json["first"] = verdict.first;
  report.json["head"] = {{"seq", verdict.head.sequence}, {"hash", verdict.head.hash}};
  report.json["tail_proven"] = verdict.tail_proven;
  report.json["findings"] = OrderedJson::array();
  for (const AuditFinding& finding : verdict.findings) {
    report.json["findings"].push_back(
        {{"kind", finding.kind}, {"line", finding.line}, {"text", finding.text}});
  }
  report.json["more_findings"] = verdict.more;
  report.json["remarks"] = verdict.remarks;
  for (const std::string& line : finding_words(verdict)) {
    report.text += line + "\n";
  }
  for (const std::string& line : remark_words(verdict, source)) {
    report.text += line + "\n";
  }
  report.exit = verdict.whole() ? Exit::kOk : Exit::kCheckFailed;
}

Answer<Report> verify_log(const Source& source) {
  AB_TRY(verdict, prove(source, [](const AuditLine&, std::string_view) {}));
  if (verdict.lines == 0 && verdict.whole() && !verdict.tail_proven) {
    // What was to be read may have failed to come: `kubectl logs ... | ... verify -`.
    verdict.findings.push_back(
        {"empty", 0, "there is no line of an audit log here, and that proves nothing"});
  }
  Report report;
  report.json["log"] = source.path;
  add_verdict(verdict, source, report);
  return report;
}

Answer<Report> show_log(const Source& source, const AuditFilter& filter, std::uint64_t lines) {
  const std::size_t most =
      lines == 0 ? kMaxAuditAnswer : std::min<std::size_t>(lines, kMaxAuditAnswer);
  std::deque<AuditLine> found;
  std::uint64_t left_out = 0;
  AB_TRY(verdict, prove(source, [&](const AuditLine& line, std::string_view) {
           if (matches(filter, line)) {
             found.push_back(line);
             if (found.size() > most) {
               found.pop_front();
               ++left_out;
             }
           }
         }));
  Report report;
  report.json["log"] = source.path;
  report.json["left_out"] = left_out;
  report.json["events"] = OrderedJson::array();
  for (const AuditLine& line : found) {
    report.json["events"].push_back(OrderedJson(line.json));
    report.text += describe(line) + "\n";
  }
  add_verdict(verdict, source, report);
  return report;
}

Answer<Report> draw_log(const Source& source, const AuditFilter& filter, TimelineForm form) {
  TimelineMaker maker;
  AB_TRY(verdict, prove(source, [&](const AuditLine& line, std::string_view) {
           if (matches(filter, line)) {
             maker.take(line);
           }
         }));
  Timeline timeline = std::move(maker).finish();
  timeline.labels = source.labels;
  Report report;
  report.json = timeline_json(timeline);
  report.text = timeline_text(timeline);
  add_verdict(verdict, source, report);
  if (form == TimelineForm::kSvg) {
    report.text = render_timeline_svg_file(timeline);
  } else if (form == TimelineForm::kHtml) {
    report.text = render_timeline_page(timeline, "Sessions in " + source.path,
                                       finding_words(verdict), remark_words(verdict, source));
  }
  return report;
}

}  // namespace

Result<AuditVerdict> check_audit(const BoxPaths& paths) {
  Source source = source_of_box(paths);
  source.may_be_missing = false;
  return prove(source, [](const AuditLine&, std::string_view) {});
}

Answer<Report> audit_log(const Store& store, const AuditLog& wanted) {
  AB_TRY(filter, filter_of(wanted));
  AB_TRY(source, source_of(store, wanted));
  switch (wanted.action) {
    case AuditLogAction::kVerify:
      return verify_log(source);
    case AuditLogAction::kShow:
      return show_log(source, filter, wanted.lines);
    case AuditLogAction::kTimeline:
      break;
  }
  return draw_log(source, filter, wanted.form);
}

}  // namespace agentbox::provision
