// pure: see audit_line.h.
#include "provision/audit_line.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/text.h"
#include "base/utc.h"
#include "provision/duration.h"

namespace agentbox::provision {
namespace {

constexpr std::string_view kTimeShape = "dddd-dd-ddTdd:dd:dd.dddZ";

// TEXT has the shape of the first bytes of a time; 'd' stands for a digit.
bool begins_a_time(std::string_view text) {
  if (text.size() > kTimeShape.size()) {
    return false;
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kTimeShape[i] == 'd' ? !digit : text[i] != kTimeShape[i]) {
      return false;
    }
  }
  return true;
}

// The first moment that begins as BARE does.
std::string completed(std::string_view bare) {
  static constexpr std::string_view kFirst = "0000-01-01T00:00:00.000Z";
  return std::string(bare) + std::string(kFirst.substr(bare.size()));
}

std::string text_in(const Json& json, std::string_view name) {
  const std::string* text = find_string(json, name);
  return text == nullptr ? std::string() : *text;
}

std::optional<std::uint64_t> number_in(const Json& json, std::string_view name) {
  const Json* value = find_member(json, name);
  return value != nullptr && value->is_number_unsigned()
             ? std::optional(value->get<std::uint64_t>())
             : std::nullopt;
}

// In quotes where it could be taken for more than one field.
std::string one_word(const std::string& text) {
  if (text.find_first_of(" \"=") == std::string::npos) {
    return text;
  }
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c == '"' ? "\\\"" : std::string(1, c);
  }
  return quoted + "\"";
}

}  // namespace

bool is_audit_event(std::string_view name) {
  return std::find(kAuditEvents.begin(), kAuditEvents.end(), name) != kAuditEvents.end();
}

std::string audit_event_names() {
  std::string names;
  for (const std::string_view name : kAuditEvents) {
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return names;
}

Result<AuditLine> parse_audit_line(std::string_view text) {
  if (text.size() > kMaxAuditLineBytes) {
    return Error{Code::kLimit, "an audit line of more than 64 KiB"};
  }
  AB_TRY(json, parse_json(text, JsonLimits{4, 1000, 1000}));
  AuditLine line;
  line.time = text_in(json, "time");
  line.event = text_in(json, "event");
  const auto sequence = number_in(json, "seq");
  if (line.time.size() != kTimeShape.size() || !begins_a_time(line.time) || line.event.empty() ||
      !is_printable_ascii(line.event) || !sequence) {
    return Error{Code::kInvalid, "not an audit line"};
  }
  line.sequence = *sequence;
  line.key = text_in(json, "key");
  line.session = text_in(json, "session");
  line.json = std::move(json);
  return line;
}

bool matches(const AuditFilter& filter, const AuditLine& line) {
  return (filter.since.empty() || line.time >= filter.since) &&
         (filter.event.empty() || line.event == filter.event) &&
         (filter.key.empty() || line.key == filter.key);
}

Result<std::string> parse_since(std::string_view text, std::int64_t now_ms) {
  if (const auto age = parse_duration(text)) {
    return format_time(std::max<std::int64_t>(now_ms - *age * 1000, 0));
  }
  constexpr std::array<std::size_t, 5> kLengths = {10, 13, 16, 19, 23};  // day to milliseconds
  const std::string_view bare = text.ends_with('Z') ? text.substr(0, text.size() - 1) : text;
  const bool known = std::find(kLengths.begin(), kLengths.end(), bare.size()) != kLengths.end();
  // A day that no calendar has would compare as text, and hide what it should show.
  const bool real = known && begins_a_time(bare) && parse_time(completed(bare)).ok();
  if (!real) {
    return Error{Code::kInvalid,
                 "not a time: '" + escape_text(text, 60) +
                     "'; write 2026-11-30, 2026-11-30T06:31Z (UTC), or an age: 90s, 10m, 2h, 7d"};
  }
  return std::string(bare);
}

std::string describe(const AuditLine& line) {
  std::string text = line.time + " " + line.event;
  for (const auto& [name, value] : line.json.items()) {
    const bool said =
        name == "time" || name == "event" || name == "stream" || name == "seq" || name == "chain";
    const bool empty = value.is_string() && value.get_ref<const std::string&>().empty();
    if (said || empty) {
      continue;
    }
    text += " " + escape_text(name, 40) + "=";
    text += value.is_string() ? one_word(printable_text(value.get_ref<const std::string&>(), 300))
                              : escape_text(dump_json(value), 300);
  }
  return text;
}

void OpenSessions::take(const AuditLine& line) {
  if (line.event == "session_start") {
    keys_[line.session] = line.key;
  } else if (line.event == "session_end") {
    keys_.erase(line.session);
  } else if (line.event == "listen" && find_member(line.json, "before_seq") != nullptr) {
    keys_.clear();  // a door that starts has no session yet
  } else if (line.event == "keys_loaded" && find_member(line.json, "refused") == nullptr) {
    generation_ = number_in(line.json, "generation").value_or(0);
  }
}

std::size_t OpenSessions::count(const std::vector<std::string>& fingerprints) const {
  return static_cast<std::size_t>(std::count_if(keys_.begin(), keys_.end(), [&](const auto& entry) {
    return std::find(fingerprints.begin(), fingerprints.end(), entry.second) != fingerprints.end();
  }));
}

}  // namespace agentbox::provision
