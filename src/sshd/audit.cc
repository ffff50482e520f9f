// pure: see audit.h.
#include "sshd/audit.h"

#include "base/text.h"
#include "base/utc.h"

namespace agentbox::sshd {
namespace {
constexpr std::size_t kMaxFieldBytes =
    1024;  // a line stays far under the 64 KiB that log shippers cut at
}  // namespace

AuditEvent AuditEvent::text(std::string_view field, std::string_view value) && {
  // Senders of records have escaped already; what is printable stays as it is.
  fields_[std::string(field)] = printable_text(value, kMaxFieldBytes);
  return std::move(*this);
}

AuditEvent AuditEvent::number(std::string_view field, std::int64_t value) && {
  fields_[std::string(field)] = value;
  return std::move(*this);
}

AuditEvent AuditEvent::flag(std::string_view field, bool value) && {
  fields_[std::string(field)] = value;
  return std::move(*this);
}

std::string AuditEvent::line(std::uint64_t sequence, std::int64_t milliseconds) const {
  OrderedJson line;
  line["stream"] = "audit";
  line["time"] = format_time(milliseconds);
  line["seq"] = sequence;
  line["event"] = name_;
  for (const auto& [field, value] : fields_.items()) {
    line[field] = value;
  }
  return dump_json(line);
}

}  // namespace agentbox::sshd
