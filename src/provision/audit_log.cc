// edge: see audit_log.h.
#include "provision/audit_log.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <utility>

#include "provision/audit_reader.h"

namespace agentbox::provision {
namespace {

std::int64_t now_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

Answer<AuditFilter> filter_of(const AuditLog& wanted) {
  AuditFilter filter{{}, wanted.event, wanted.key};
  if (!wanted.since.empty()) {
    auto since = parse_since(wanted.since, now_ms());
    if (!since.ok()) {
      return Failure{Exit::kUsage, since.error().what,
                     "for example: audit-log show --box NAME --since 2h"};
    }
    filter.since = std::move(since).value();
  }
  if (!filter.key.empty() && !is_fingerprint(filter.key)) {
    return Failure{Exit::kUsage, "--key wants a fingerprint: SHA256: and 43 characters",
                   "`agentbox-provision status NAME` shows those of the box"};
  }
  return filter;
}

// A box that has not started yet has no log, which is no error; a file that is not there is one.
Answer<std::string> path_of(const Store& store, const AuditLog& wanted) {
  if (!wanted.box) {
    return wanted.file;
  }
  AB_TRY(record, store.load_existing(*wanted.box));
  return store.paths(record.name).audit_log_real;
}

void add_strange(std::uint64_t strange, std::vector<std::string>& complaints) {
  if (strange > 0) {
    complaints.push_back(std::to_string(strange) + " line(s) are none of the door's");
  }
}

}  // namespace

Result<AuditState> check_audit(const std::string& path) {
  AuditReader reader(path);
  AuditChain chain;
  AB_CHECK(
      reader.read([&](const AuditLine& line, std::string_view text) { chain.take(line, text); }));
  AuditState state{chain.lines(), chain.complaints()};
  add_strange(reader.strange_lines(), state.complaints);
  return state;
}

Answer<Report> audit_log(const Store& store, const AuditLog& wanted) {
  AB_TRY(path, path_of(store, wanted));
  AB_TRY(filter, filter_of(wanted));
  const std::size_t most =
      wanted.lines == 0 ? kMaxAuditAnswer : std::min<std::size_t>(wanted.lines, kMaxAuditAnswer);
  AuditReader reader(path);
  AuditChain chain;
  std::deque<AuditLine> found;
  std::uint64_t left_out = 0;
  const Status read = reader.read([&](const AuditLine& line, std::string_view text) {
    chain.take(line, text);
    if (matches(filter, line)) {
      found.push_back(line);
      if (found.size() > most) {
        found.pop_front();
        ++left_out;
      }
    }
  });
  if (!read.ok() && (read.error().code != Code::kNotFound || !wanted.box)) {
    return failure_of(read.error());
  }
  std::vector<std::string> complaints = chain.complaints();
  add_strange(reader.strange_lines(), complaints);
  Report report;
  report.json["log"] = path;
  report.json["whole"] = complaints.empty();
  report.json["complaints"] = complaints;
  report.json["left_out"] = left_out;
  report.json["events"] = OrderedJson::array();
  for (const AuditLine& line : found) {
    report.json["events"].push_back(OrderedJson(line.json));
    report.text += describe(line) + "\n";
  }
  for (const std::string& complaint : complaints) {
    report.text += "NOT WHOLE: " + complaint + "\n";
  }
  if (complaints.empty()) {
    report.text += "whole: " + std::to_string(chain.lines()) + " lines, none missing or changed\n";
  }
  report.exit = complaints.empty() ? Exit::kOk : Exit::kCheckFailed;
  return report;
}

}  // namespace agentbox::provision
